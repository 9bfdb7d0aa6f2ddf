# The peers of bench/engines.c are those of bench/clutter.c: see bench/clutter.mk
PEERS_FLAGS_engines = $(PEERS_FLAGS_clutter)
PEERS_LIBS_engines = $(PEERS_LIBS_clutter)
PEERS_PACKAGES_engines = $(PEERS_PACKAGES_clutter)
