# icf: `make help` lists the commands. Needs a C compiler and make; whatever else a target needs and
# does not find, it names, with the Debian package, and leaves out.

CC ?= cc
CXX ?= c++
CFLAGS ?= -O2
CXXFLAGS ?= -O2
LDLIBS = -lm

MAIN_EXAMPLE = 05_clutter

# tests/test_X.c makes build/test_X and build/test_X_float; those named here are also built with
# ICF_NO_SIMD, as test_X_scalar and test_X_scalar_float
SCALAR_TOO = test_dense test_sparse test_broad_phase

# what the peers of bench/NAME.c, compiled from bench/peers/NAME_peers.cc, need
PEERS_FLAGS = -O3 -march=native -I/usr/include/eigen3 -I/usr/include/suitesparse
PEERS_LIBS_cholesky = -lcholmod -lldl -lopenblas -ldl
PEERS_PACKAGES_cholesky = g++ libeigen3-dev libopenblas-dev libsuitesparse-dev

HEADERS := $(wildcard *.h tests/*.h examples/*.h bench/*.h bench/*/*.h)
EXAMPLES := $(patsubst examples/%.c,%,$(wildcard examples/*.c))
BENCHMARKS := $(patsubst bench/%.c,%,$(wildcard bench/*.c))
TESTS := $(patsubst tests/%.c,%,$(wildcard tests/test_*.c))
SCALAR_TESTS := $(filter $(SCALAR_TOO),$(TESTS))
SCALAR_PROGRAMS := $(foreach t,$(TESTS),$(t)_scalar $(t)_scalar_float)
PROGRAMS := $(foreach t,$(TESTS),$(t) $(t)_float) \
            $(foreach t,$(SCALAR_TESTS),$(t)_scalar $(t)_scalar_float)

# as many compilers at a time as there are processors, unless a -j is given
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
endif

.PHONY: main test check check-all strict sanitize fuzz-quick soak mutate tidy format bench clean help
.DELETE_ON_ERROR:
.SECONDARY:

main: build/$(MAIN_EXAMPLE)
	./build/$(MAIN_EXAMPLE) build/$(MAIN_EXAMPLE).html

help:
	@echo "make              builds and runs the main example, $(MAIN_EXAMPLE)"
	@echo "make test         builds and runs every test; ends with: N passed, M failed"
	@echo "make check        test, strict, sanitize, fuzz-quick, and checks of contents, symbols, answers,"
	@echo "                  contraction, bits, examples"
	@echo "make check-all    the same with every compiler optimising, and all tests without SIMD"
	@echo "make strict       both headers under many compilers, languages and warnings"
	@echo "make sanitize     the tests under AddressSanitizer, UndefinedBehaviorSanitizer, MemorySanitizer"
	@echo "make fuzz-quick   random scenes, worlds and problems, the same ones each time: a minute"
	@echo "make soak         new random scenes for SOAK_SECONDS (300) each in double, float and under sanitizers,"
	@echo "                  and chains and loops of constraints in double and float"
	@echo "make mutate       MUTANTS (200) faults from MUTATE_SEED (1) in the headers: which of them tests find; two hours"
	@echo "make tidy         clang-tidy, cppcheck, clang-format"
	@echo "make format       writes every C file as .clang-format says"
	@echo "make bench        builds and runs every benchmark"
	@echo "make bench-NAME   builds and runs one: $(BENCHMARKS)"
	@echo "make build/NAME   builds a program of examples/ or bench/: $(EXAMPLES) $(BENCHMARKS)"
	@echo "make clean        removes build/, where all that is built lies"

test: $(PROGRAMS:%=build/%)
	@sh tests/run.sh $^

# one after the other, the quick ones first
check:
	@sh tests/check_contents.sh
	@[ -n "$(TESTED)" ] || $(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory $(EXAMPLES:%=build/%) $(EXAMPLES:%=build/%_float)
	@sh tests/check_examples.sh $(EXAMPLES)
	@sh tests/check_symbols.sh
	@sh tests/check_unused.sh
	@sh tests/check_contraction.sh
	@sh tests/check_bits.sh
	@sh tests/check_replay.sh
	@$(MAKE) --no-print-directory strict
	@$(MAKE) --no-print-directory sanitize
	@$(MAKE) --no-print-directory fuzz-quick
	@cat build/closing-line

# what takes longer than a change should wait for
check-all: check
	@STRICT_ALL=1 sh tests/strict.sh
	@$(MAKE) --no-print-directory sanitize-memory MEMORY_PROGRAMS="$(PROGRAMS)"
	@$(MAKE) --no-print-directory $(SCALAR_PROGRAMS:%=build/%)
	@sh tests/run.sh $(SCALAR_PROGRAMS:%=build/%)

strict:
	@sh tests/strict.sh

tidy:
	@sh tests/tidy.sh

format:
	clang-format -i $$(find . -name build -prune -o -name '*.[ch]' -print)

clean:
	rm -rf build

# ---- programs: each is one C file that includes the headers

# Most tests are linked with one implementation, see tests/tested.h; those that hold their own say so.
OWN := $(patsubst tests/%.c,%,$(shell grep -l '^.define ICF_IMPLEMENTATION' tests/test_*.c))
LINKED := $(filter-out $(OWN),$(TESTS))

# $(call test-build,DIRECTORY,COMMAND,SUFFIX): every test as DIRECTORY/test_X_SUFFIX
define test-build
$(1)/implementation$(3).o: tests/implementation.c tests/tested.h icf.h icf_geometry.h
	@mkdir -p $(1)
	$(2) -c -o $$@ $$<
$(LINKED:%=$(1)/%$(3)): $(1)/%$(3): tests/%.c $(1)/implementation$(3).o $$(HEADERS)
	$(2) -DTEST_LINKED -o $$@ $$< $(1)/implementation$(3).o $$(LDLIBS)
$(1)/%$(3): tests/%.c $$(HEADERS)
	@mkdir -p $(1)
	$(2) -o $$@ $$< $$(LDLIBS)
endef

# $(call tests-in,DIRECTORY,COMMAND): the four builds of a test
define tests-in
$(call test-build,$(1),$(2),)
$(call test-build,$(1),$(2) -DICF_FLOAT,_float)
$(call test-build,$(1),$(2) -DICF_NO_SIMD,_scalar)
$(call test-build,$(1),$(2) -DICF_NO_SIMD -DICF_FLOAT,_scalar_float)
endef

$(eval $(call tests-in,build,$$(CC) $$(CFLAGS)))

build/%: examples/%.c $(HEADERS)
	@mkdir -p build
	$(CC) $(CFLAGS) -I. -o $@ $< $(LDLIBS)

build/%_float: examples/%.c $(HEADERS)
	@mkdir -p build
	$(CC) $(CFLAGS) -I. -DICF_FLOAT -o $@ $< $(LDLIBS)

# A benchmark is linked with its peers where their libraries are installed. bench/NAME.mk, if there is one,
# sets BENCH_MORE_NAME, other C files of it, BENCH_FLAGS_NAME, and what its peers need.
-include $(wildcard bench/*.mk)
.SECONDEXPANSION:

build/%: bench/%.c $$(BENCH_MORE_$$*) $$(wildcard bench/peers/$$*_peers.cc) $(HEADERS)
	@mkdir -p build
	@peers=; \
	if [ -f bench/peers/$*_peers.cc ]; then \
	    if CXX="$(CXX)" sh tests/have_peers.sh bench/peers/$*_peers.cc $(PEERS_FLAGS) $(PEERS_FLAGS_$*) $(PEERS_LIBS_$*); then \
	        (set -x; $(CXX) $(PEERS_FLAGS) $(PEERS_FLAGS_$*) -c -o build/$*_peers.o bench/peers/$*_peers.cc) || exit 1; \
	        peers="-DICF_BENCH_PEERS build/$*_peers.o $(PEERS_LIBS_$*) -lstdc++"; \
	    else \
	        echo "$*: built without its peers; they need: apt-get install $(PEERS_PACKAGES_$*)"; \
	    fi; \
	fi; \
	set -x; \
	$(CC) $(CFLAGS) -I. $(BENCH_FLAGS_$*) -o $@ $< $(BENCH_MORE_$*) $$peers $(LDLIBS)

bench-%: build/%
	./build/$* $(ARGS)

# one at a time: they measure
bench:
	@for b in $(BENCHMARKS); do $(MAKE) --no-print-directory bench-$$b || exit 1; done

# ---- the tests under sanitizers

SANITIZE_ADDRESS = $(CC) -g1 -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
SANITIZE_MEMORY = clang -g1 -O1 -fno-omit-frame-pointer -fsanitize=memory -fno-sanitize-recover=all

$(eval $(call tests-in,build/address,$$(SANITIZE_ADDRESS)))
$(eval $(call tests-in,build/memory,$$(SANITIZE_MEMORY)))

.PHONY: sanitize-address sanitize-memory
sanitize-address: $(PROGRAMS:%=build/address/%)
	@CLOSING=build/address/closing-line sh tests/run.sh $^

# double is enough: in float the same memory is read
MEMORY_PROGRAMS = $(TESTS)
sanitize-memory: $(MEMORY_PROGRAMS:%=build/memory/%)
	@CLOSING=build/memory/closing-line sh tests/run.sh $^

# $(call works,COMPILER), for the shell: whether what it makes runs
works = mkdir -p build && echo 'int main(void) { return 0; }' >build/empty.c && \
        $(1) -o build/empty build/empty.c >/dev/null 2>&1 && ./build/empty

sanitize:
	@if $(call works,$(SANITIZE_ADDRESS)); then \
	    $(MAKE) --no-print-directory sanitize-address; \
	else echo "skipped: AddressSanitizer; needs: apt-get install gcc"; fi
	@if $(call works,$(SANITIZE_MEMORY)); then \
	    $(MAKE) --no-print-directory sanitize-memory; \
	else echo "skipped: MemorySanitizer; needs: apt-get install clang libclang-rt-14-dev"; fi

# ---- fuzzers: PROGRAM FIRST COUNT SECONDS, seeds FIRST, FIRST + 1 ...; see tests/fuzz.h

build/fuzz_world_signed: tests/fuzz_world.c $(HEADERS)
	@mkdir -p build
	$(CC) $(CFLAGS) -DFUZZ_SIGNED -o $@ $< $(LDLIBS)

# counts and not seconds, so that it is the same on every machine
fuzz-quick: build/fuzz_world build/fuzz_world_float build/fuzz_world_signed build/fuzz_solver build/soak build/soak_float
	@failed=0; \
	for run in "fuzz_world 1 20000" "fuzz_world_float 1 20000" "fuzz_world_signed 1 20000" \
	    "fuzz_solver 1 20000" "soak 1 600" "soak_float 1 600"; do build/$$run || failed=1; done; \
	if $(call works,$(SANITIZE_ADDRESS)); then \
	    $(MAKE) --no-print-directory build/address/soak && build/address/soak 5001 200 || failed=1; \
	else echo "skipped: the soak under AddressSanitizer; needs: apt-get install gcc"; fi; \
	exit $$failed

# from seeds that it had before: make soak SOAK_FIRST=...
SOAK_SECONDS = 300
soak: build/soak build/soak_float build/address/soak build/fuzz_loops build/fuzz_loops_float
	@first=$(SOAK_FIRST); first=$${first:-$$(date +%s)000}; failed=0; \
	for program in $^; do \
	    echo "== $$program, from seed $$first"; \
	    $$program $$first 1000000000 $(SOAK_SECONDS) || failed=1; \
	    first=$$((first + 300000)); \
	done; \
	exit $$failed

# ---- seeded faults, see tests/mutate.py

MUTANTS = 200
MUTATE_SEED = 1
mutate:
	@if command -v python3 >/dev/null; then python3 tests/mutate.py --count $(MUTANTS) --seed $(MUTATE_SEED); \
	else echo "skipped: mutate; needs: apt-get install python3"; fi
