\conninfo
\encoding
\d
\d+
\d trades
\d+ quotes
\d instruments
\d nothing_of_this_name
\d trades_pkey
\dt
\dt+
\dt public.*
\dt *.*
\di
\di+
\dv
\dm
\ds
\dn
\dn+
\du
\du+
\dg
\l
\l+
\df
\df pg_get_viewdef
\da max
\dT
\dT+ numeric
\dx
\dx+
\dp
\z trades
\ddp
\dd
\dD
\dC numeric
\do ||
\dO
\dc
\dA
\db
\dy
\dS pg_class
\drds
\dconfig TimeZone
\sf pg_get_viewdef
\set
SELECT count(*) FROM trades;
SELECT * FROM trades ORDER BY id LIMIT 3;
SELECT symbol, name, tick_size, listed, active FROM instruments WHERE symbol = 'ACME';
SELECT symbol, sum(quantity) AS volume, avg(price) FROM public.trades GROUP BY symbol ORDER BY volume DESC FETCH FIRST 2 ROWS ONLY;
SELECT version();
SELECT current_database(), current_schema(), current_user, session_user;
SELECT 'a'::text AS t, 1::int8 AS n, 1.50::numeric(10,2) AS d, true::bool AS b, NULL AS nothing;
\gdesc
SELECT id, price FROM trades WHERE id = $1 \bind 1 \g
SELECT symbol, side, sum(quantity)::bigint AS volume FROM trades WHERE symbol IN ('ACME', 'BOLT') GROUP BY 1, 2 ORDER BY 1, 2 \crosstabview symbol side volume
\copy (SELECT id, symbol, price FROM trades ORDER BY id LIMIT 3) TO STDOUT
\copy instruments TO '/dev/null' (FORMAT csv, HEADER)
\copy (SELECT symbol, bid FROM quotes ORDER BY 1, quoted_at LIMIT 2) TO STDOUT (FORMAT csv, HEADER)
\copy trades (id, price) TO '/dev/null' (FORMAT binary)
COPY instruments TO STDOUT;
BEGIN;
SELECT 1;
SAVEPOINT a;
SELECT 1/0;
ROLLBACK TO SAVEPOINT a;
COMMIT;
\set FETCH_COUNT 1000
SELECT id, symbol FROM trades ORDER BY id LIMIT 2500;
\unset FETCH_COUNT
BEGIN;
DECLARE part NO SCROLL CURSOR FOR SELECT id, symbol, price FROM trades ORDER BY id;
FETCH 2 FROM part;
MOVE FORWARD 10 IN part;
FETCH NEXT FROM part;
CLOSE part;
COMMIT;
PREPARE by_id (bigint) AS SELECT id, symbol FROM trades WHERE id = $1;
EXECUTE by_id(3);
EXECUTE by_id('4');
DEALLOCATE by_id;
SHOW ALL;
SHOW TimeZone;
SHOW server_version;
SET statement_timeout = '30s';
RESET statement_timeout;
SET application_name = 'psql';
SELECT nothing FROM trades;
SELECT * FROM nothing_of_this_name;
