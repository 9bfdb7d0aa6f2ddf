# MUJOCO=directory with libmujoco.so.* and include/: see bench/peers/world_peers.h. Without it the one that is installed
ifdef MUJOCO
PEERS_FLAGS_world = -I$(abspath $(MUJOCO))/include
PEERS_LIBS_world = $(firstword $(wildcard $(abspath $(MUJOCO))/libmujoco.so*)) -Wl,-rpath,$(abspath $(MUJOCO))
else
PEERS_LIBS_world = -lmujoco
endif
PEERS_PACKAGES_world = g++ libmujoco-dev
