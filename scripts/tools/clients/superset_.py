"""Superset with SQLite as its own database: adds the server as a database, browses its schema, and runs charts, all by Superset's API."""
import os
import subprocess
import sys
import tempfile

# Superset reads its settings from a module of this name.
folder = tempfile.mkdtemp()
with open(os.path.join(folder, "superset_config.py"), "w") as file:
    file.write('SECRET_KEY = "only-for-this-run-only-for-this-run-only"\n')
    file.write(f'SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"\n')
    file.write("WTF_CSRF_ENABLED = False\nTALISMAN_ENABLED = False\n")
    for cache in ("FILTER_STATE_CACHE_CONFIG", "EXPLORE_FORM_DATA_CACHE_CONFIG", "CACHE_CONFIG", "DATA_CACHE_CONFIG"):
        file.write(f'{cache} = {{"CACHE_TYPE": "NullCache"}}\n')
sys.path.append(folder)
os.environ["SUPERSET_HOME"] = folder

from superset.app import create_app  # noqa: E402
from values import TABLES, done  # noqa: E402

ADDRESS = "postgresql+psycopg2://{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ)
ADMIN = {"username": "admin", "password": "only-for-this-run"}



def command(*words):
    """By Superset's command line."""
    program = [os.path.join(sys.prefix, "bin", "superset"), *words]
    environment = {**os.environ, "PYTHONPATH": folder, "FLASK_APP": "superset"}
    ended = subprocess.run(program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ended.returncode == 0, f"{words}: {ended.stdout[-3000:]}"


command("db", "upgrade")
command("fab", "create-admin", "--firstname", "A", "--lastname", "B", "--email", "a@example.com",
        "--username", ADMIN["username"], "--password", ADMIN["password"])
command("init")

app = create_app()
client = app.test_client()
login = client.post("/api/v1/security/login", json={**ADMIN, "provider": "db", "refresh": False})
assert login.status_code == 200, login.text
HEADERS = {"Authorization": f"Bearer {login.json['access_token']}"}


def call(method, path, **options):
    answer = getattr(client, method)(f"/api/v1/{path}", headers=HEADERS, **options)
    assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text[:2000]}"
    return answer.json


# What its form "Connect a database" sends.
call("post", "database/test_connection/", json={"sqlalchemy_uri": ADDRESS, "database_name": "market"})
database = call("post", "database/", json={"sqlalchemy_uri": ADDRESS, "database_name": "market", "expose_in_sqllab": True})["id"]
assert "public" in call("get", f"database/{database}/schemas/")["result"]
listed = call("get", f"database/{database}/tables/?q=(schema_name:public,force:!t)")["result"]
assert TABLES <= {table["value"] for table in listed}, listed
for table in TABLES:
    described = call("get", f"database/{database}/table_metadata/?name={table}&schema=public")
    assert len(described["columns"]) > 0, described
    assert described["primaryKey"], described
call("get", f"database/{database}/select_star/trades/public/")

# SQL Lab.
ran = call("post", "sqllab/execute/", json={
    "database_id": database, "schema": "public", "client_id": "12345678901", "runAsync": False, "queryLimit": 100,
    "sql": "SELECT symbol, count(*) AS n FROM trades GROUP BY symbol ORDER BY n DESC"})
assert ran["status"] == "success" and len(ran["data"]) > 0, ran

# A chart: a line for each symbol, by each grain of time that Superset offers.
dataset = call("post", "dataset/", json={"database": database, "schema": "public", "table_name": "trades"})["id"]
columns = {column["column_name"]: column for column in call("get", f"dataset/{dataset}")["result"]["columns"]}
assert columns["executed_at"]["is_dttm"] and columns["price"]["type"].startswith("NUMERIC"), columns
VOLUME = {"expressionType": "SIMPLE", "column": {"column_name": "quantity"}, "aggregate": "SUM", "label": "SUM(quantity)"}


def chart(grain):
    axis = {"timeGrain": grain, "columnType": "BASE_AXIS", "sqlExpression": "executed_at", "label": "executed_at",
            "expressionType": "SQL"}
    query = {
        "columns": [axis, "symbol"],
        "metrics": [VOLUME],
        "filters": [{"col": "executed_at", "op": "TEMPORAL_RANGE", "val": "2026-01-05T00:00:00 : 2026-01-08T00:00:00"},
                    {"col": "symbol", "op": "IN", "val": ["ACME", "BOLT"]}],
        "orderby": [[VOLUME, False]],
        "row_limit": 1000,
        "series_columns": ["symbol"],
    }
    return client.post("/api/v1/chart/data", headers=HEADERS, json={
        "datasource": {"id": dataset, "type": "table"}, "queries": [query], "result_format": "json", "result_type": "full"})


with app.app_context():
    from superset.db_engine_specs.postgres import PostgresEngineSpec

    GRAINS = [grain for grain in PostgresEngineSpec.get_time_grain_expressions() if grain is not None]
for grain in GRAINS:
    answer = chart(grain)
    assert answer.status_code == 200 and answer.json["result"][0]["rowcount"] > 0, f"{grain}: {answer.text[:2000]}"
print(f"charts with {len(GRAINS)} grains of time")
done("superset")
