"""The demonstration market in pandas, with the package gatehouse_client (docs/python.md). Start the demonstration
(npm start), then, in this folder:

    python3 -m venv .venv && .venv/bin/pip install -r requirements.txt ../../clients/python && .venv/bin/python notebook.py

The lines with %% begin the cells of a notebook in VS Code, Spyder, PyCharm and Jupyter (with jupytext).
"""

# %% Sign in
# As a service, with the client secret of the demonstration. A person signs in with auth=Device("demo-device"), which
# prints an address and a code to confirm.
import os

import matplotlib
import pandas as pd
from gatehouse_client import ClientSecret, Gate

SERVER = os.environ.get("GATEHOUSE_SERVER", "http://localhost:5080")
gate = Gate(SERVER, auth=ClientSecret("demo-service", "demo-service-secret", scope="Platform/Market"))

# %% A query as a DataFrame
# It comes by Arrow, and each column keeps its type: a Decimal is a decimal128, an Integer an int64.
trades = gate.query("select * from trades order by executed_at, id").to_pandas()
print(trades.dtypes)
print(trades.head(3))

# %% Decimals are exact
# decimal128 times int64 is a decimal128, and so is the sum: the server computes the same number.
turnover = (trades["price"] * trades["quantity"]).sum()
statement = "select sum(price * quantity) as turnover from trades where id <= :last"
row = gate.query(statement, last=trades["id"].max()).first()
assert turnover == row["turnover"], (turnover, row)
print("turnover:", turnover, type(turnover))

# %% So are 64-bit integers, also beside missing values
# With the types of NumPy such a column would be a float64, and 9007199254740993 would become …992.
big = gate.query("select 9007199254740993 as number union all select null").to_pandas()["number"]
assert big.dtype == "int64[pyarrow]" and big.dropna().item() == 9007199254740993
print("integers:", big.tolist())

# %% More than fits into memory
# Record batches of Arrow as they arrive. The values are exact here too; a loop over the query itself yields rows.
bought = 0
for batch in gate.query("select quantity from trades where side = :side", side="Buy").batches():
    bought += batch.to_pandas()["quantity"].sum()
print("bought", bought)

# %% A chart
# The one place where a number may become a float: on a screen a pixel is coarser than any rounding.
matplotlib.use("agg")  # not in a notebook, which shows the figure itself
bars = gate.query(
    """select time_bucket('30 minutes', executed_at) as bar, symbol, last(price, executed_at) as price
       from trades where symbol in ('ACME', 'BOLT', 'CORN') and executed_at < :end group by bar, symbol order by bar""",
    end="2026-01-06T00:00:00Z",  # the day that the demonstration comes with
).to_pandas()
prices = bars.astype({"price": "float64"}).pivot(index="bar", columns="symbol", values="price").ffill().bfill()
change = (prices / prices.iloc[0] - 1) * 100
change.index = [bar.strftime("%H:%M") for bar in change.index]
figure = change.plot(title="Change since the first trade, in percent", xlabel="", grid=True).figure
figure.savefig("market.png", dpi=120)
print("market.png:", len(change), "points of", list(change.columns))

# %% A live query
# The whole result whenever it has changed, until the loop ends. It resumes after a lost connection.
live = gate.live(
    "select symbol, last(price, executed_at) as price, sum(quantity) as volume from trades group by symbol order by symbol"
)
for count, rows in enumerate(live.states()):
    print(pd.DataFrame(rows).set_index("symbol").head(3))
    if count == 2:
        break

# %% The end
gate.close()
print("notebook: ok")
