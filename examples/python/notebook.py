"""The demonstration market in pandas. Start the demonstration (npm start), then, in this folder:

    python3 -m venv .venv && .venv/bin/pip install -r requirements.txt && .venv/bin/python notebook.py

The lines with %% begin the cells of a notebook in VS Code, Spyder, PyCharm and Jupyter (with jupytext).
"""

# %% Sign in
# As a service, with the client secret of the demonstration. A person signs in with Gate(SERVER, "demo-device"), which
# prints an address and a code to confirm.
import matplotlib
import pandas as pd
import pyarrow.ipc

from gatehouse import SERVER, Gate

gate = Gate(SERVER, client_id="demo-service", client_secret="demo-service-secret")


def frame(statement, **parameters):
    """The result of a statement, by Arrow. With ArrowDtype each column keeps its type: a Decimal is a decimal128, an Integer
    an int64, also where values are missing."""
    with gate.arrow(statement, **parameters) as reply, pyarrow.ipc.open_stream(reply) as stream:
        return stream.read_all().to_pandas(types_mapper=pd.ArrowDtype)


# %% A query as a DataFrame
trades = frame("select * from trades order by executed_at, id")
print(trades.dtypes)
print(trades.head(3))

# %% Decimals are exact
# decimal128 times int64 is a decimal128, and so is the sum: the server computes the same number.
turnover = (trades["price"] * trades["quantity"]).sum()
(row,) = gate.query("select sum(price * quantity) as turnover from trades where id <= :last", last=trades["id"].max())
assert turnover == row["turnover"], (turnover, row)
print("turnover:", turnover, type(turnover))

# %% So are 64-bit integers, also beside missing values
# Without types_mapper pandas makes such a column a float64, and 9007199254740993 becomes …992.
big = frame("select 9007199254740993 as number union all select null")["number"]
assert big.dtype == "int64[pyarrow]" and big.dropna().item() == 9007199254740993
print("integers:", big.tolist())

# %% Row by row
# NDJSON needs no more memory than one row, however long the result is. The values are exact here too.
buys = sells = 0
for row in gate.rows("select side, quantity from trades"):
    if row["side"] == "Buy":
        buys += row["quantity"]
    else:
        sells += row["quantity"]
print("bought", buys, "sold", sells)

# %% A chart
# The one place where a number may become a float: on a screen a pixel is coarser than any rounding.
matplotlib.use("agg")  # not in a notebook, which shows the figure itself
bars = frame(
    """select time_bucket('30 minutes', executed_at) as bar, symbol, last(price, executed_at) as price
       from trades where symbol in ('ACME', 'BOLT', 'CORN') and executed_at < :end group by bar, symbol order by bar""",
    end="2026-01-06T00:00:00Z",  # the day that the demonstration comes with
)
prices = bars.astype({"price": "float64"}).pivot(index="bar", columns="symbol", values="price").ffill().bfill()
change = (prices / prices.iloc[0] - 1) * 100
change.index = [bar.strftime("%H:%M") for bar in change.index]
figure = change.plot(title="Change since the first trade, in percent", xlabel="", grid=True).figure
figure.savefig("market.png", dpi=120)
print("market.png:", len(change), "points of", list(change.columns))

# %% A live query
# Yields the whole result whenever it has changed, until the loop ends.
live = gate.live("select symbol, last(price, executed_at) as price, sum(quantity) as volume from trades group by symbol")
for count, rows in enumerate(live):
    print(pd.DataFrame(rows.values()).set_index("symbol").sort_index().head(3))
    if count == 2:
        break

# %% The end
print("notebook: ok")
