# `make demo` and `make test` do all the set-up: they need Python 3.11 or later and make.
# PYTHON=/path/to/python3 chooses the interpreter; WORKERS=4 the number of test processes.

RUN := .venv/bin/python
WORKERS ?= 2
# One BLAS thread per process: results do not depend on the machine, workers do not compete.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 VECLIB_MAXIMUM_THREADS=1
export PYTHON

.PHONY: help demo test ordinary lint slow docs release bench regression clean runtime dev docs-environment
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 12

demo: runtime ## compare expected and observed error rates, and write a report
	@$(RUN) -m honestbayes demo

test: dev ## lint, types and the ordinary tests, side by side
	@$(MAKE) --no-print-directory -j 2 lint ordinary

ordinary: dev
	$(ONE_THREAD) $(RUN) -m pytest -n $(WORKERS)

lint: dev ## ruff and mypy
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

slow: dev ## the tests that take long, or some of them: TESTS=tests/slow
	$(ONE_THREAD) $(RUN) -m pytest -n $(WORKERS) -m slow $(TESTS)

docs: docs-environment ## build the documentation; warnings are errors
	$(RUN) -m sphinx -W --keep-going -b html docs docs/_build/html

release: ## build wheel and sdist, and run the tests against the wheel alone
	@WORKERS=$(WORKERS) $(ONE_THREAD) sh tools/release.sh

# These ask for arguments.
ASKING := benchmarks/scale.py benchmarks/regression.py benchmarks/regression_tasks.py
bench: dev ## run the benchmarks, one after the other
	@set -e; for file in $(filter-out $(ASKING), $(sort $(wildcard benchmarks/*.py))); do \
		[ -e "$$file" ] || { echo "no benchmarks yet"; continue; }; \
		echo "== $$file"; $(ONE_THREAD) $(RUN) "$$file"; done

BASE ?= HEAD~1
regression: dev ## compare speed with another revision: BASE=..., HEAD=... (else the files as they are)
	$(RUN) benchmarks/regression.py $(BASE) $(HEAD)

clean: ## remove the environment and all that was built
	rm -rf .venv build dist docs/_build docs/gallery docs/generated
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

runtime:
	@sh tools/environment.sh runtime

dev:
	@sh tools/environment.sh dev

docs-environment:
	@sh tools/environment.sh docs
