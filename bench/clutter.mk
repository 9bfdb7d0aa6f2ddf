# The peers of bench/clutter.c and bench/engines.c, each where it is found: ODE and Bullet by pkg-config; MuJoCo in
# the directory MUJOCO, else in build/wheel/mujoco (see bench/peers/world_peers.h), else the one that is installed
CLUTTER_MUJOCO = $(or $(MUJOCO),$(wildcard build/wheel/mujoco))
CLUTTER_PACKAGES = $(shell for p in ode bullet; do pkg-config --exists $$p 2>/dev/null && echo $$p; done)
ifneq ($(CLUTTER_MUJOCO),)
PEERS_FLAGS_clutter = -I$(abspath $(CLUTTER_MUJOCO))/include -DPEERS_MUJOCO
PEERS_LIBS_clutter = $(firstword $(wildcard $(abspath $(CLUTTER_MUJOCO))/libmujoco.so*)) \
                     -Wl,-rpath,$(abspath $(CLUTTER_MUJOCO))
else ifneq ($(wildcard /usr/include/mujoco/mujoco.h),)
PEERS_FLAGS_clutter = -DPEERS_MUJOCO
PEERS_LIBS_clutter = -lmujoco
endif
PEERS_FLAGS_clutter += $(if $(findstring ode,$(CLUTTER_PACKAGES)),-DPEERS_ODE) \
                       $(if $(findstring bullet,$(CLUTTER_PACKAGES)),-DPEERS_BULLET) \
                       $(if $(CLUTTER_PACKAGES),$(shell pkg-config --cflags $(CLUTTER_PACKAGES)))
PEERS_LIBS_clutter += $(if $(CLUTTER_PACKAGES),$(shell pkg-config --libs $(CLUTTER_PACKAGES)))
PEERS_PACKAGES_clutter = g++ pkg-config libode-dev libbullet-dev libmujoco-dev
