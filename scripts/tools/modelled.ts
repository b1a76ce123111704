/**
 * Statements for tools that no registry offers as a program, written by us and sent to PostgreSQL through the recording proxy. Those of
 * Grafana, Metabase and Npgsql use the tables, functions and constructs that their public sources use; those of DBeaver, Power BI and
 * Tableau are what such tools are known to ask for.
 */
export const MODELLED: Readonly<Record<string, readonly string[]>> = {
  /** The schema browser, and what its macros for time filters and groups become. */
  grafana: [
    `SELECT current_setting('server_version_num')::int / 100 AS major`,
    `SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'`,
    `SELECT schema_name AS name FROM information_schema.schemata
     WHERE schema_name NOT IN ('information_schema', 'pg_catalog', 'pg_toast') ORDER BY schema_name`,
    `SELECT quote_ident(table_name) AS name FROM information_schema.tables
     WHERE quote_ident(table_schema) = 'public' ORDER BY 1`,
    `SELECT CASE WHEN quote_ident(table_schema) IN (
         SELECT CASE WHEN trim(path[at]) = '"$user"' THEN user ELSE trim(path[at]) END
         FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1),
                              array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS at,
              string_to_array(current_setting('search_path'), ',') path)
       THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS name
     FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog') ORDER BY 1`,
    `SELECT quote_ident(column_name) AS name, data_type AS kind FROM information_schema.columns
     WHERE CASE WHEN array_length(parse_ident('public.trades'), 1) = 2
       THEN quote_ident(table_schema) = (parse_ident('public.trades'))[1] AND quote_ident(table_name) = (parse_ident('public.trades'))[2]
       ELSE quote_ident(table_name) = 'public.trades' END`,
    `SELECT executed_at AS "time", price FROM trades
     WHERE executed_at BETWEEN '2026-01-05T08:00:00Z' AND '2026-01-05T09:00:00Z' ORDER BY executed_at LIMIT 50`,
    `SELECT floor(extract(epoch from executed_at)/3600)*3600 AS "time", avg(price) AS "price" FROM trades
     WHERE executed_at BETWEEN '2026-01-05T08:00:00Z' AND '2026-01-09T17:00:00Z' AND symbol IN ('ACME') GROUP BY 1 ORDER BY 1`,
    `SELECT extract(epoch from executed_at) AS "time", side AS metric, quantity AS value FROM public.trades
     WHERE extract(epoch from executed_at) >= 1767600000 AND extract(epoch from executed_at) <= 1767603600 ORDER BY 1, 2, 3 LIMIT 20`,
    `SELECT date_trunc('hour', executed_at) AS "time", symbol AS metric, sum(quantity) AS volume FROM trades
     WHERE symbol IN ('ACME', 'BOLT') GROUP BY date_trunc('hour', executed_at), symbol ORDER BY 1, 2`,
    `SELECT DISTINCT sector AS __text, sector AS __value FROM instruments ORDER BY 1`,
    `SELECT to_timestamp(1767600000) AS "time", 1 AS value`,
    `SELECT 1`,
  ],
  /** Its synchronization of the schema, its look at values, and questions of its editor. Prepared by pgjdbc in the product. */
  metabase: [
    `SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
     WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum e)`,
    `SELECT "n"."nspname" AS "schema", "c"."relname" AS "name",
       CASE "c"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS "type",
       "d"."description" AS "description", "s"."n_live_tup" AS "rows"
     FROM "pg_catalog"."pg_class" AS "c" INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid"
     LEFT JOIN "pg_catalog"."pg_description" AS "d" ON ("c"."oid" = "d"."objoid") AND ("d"."objsubid" = 0) AND ("d"."classoid" = 'pg_class'::regclass)
     LEFT JOIN "pg_stat_user_tables" AS "s" ON ("n"."nspname" = "s"."schemaname") AND ("c"."relname" = "s"."relname")
     WHERE ("n"."nspname" !~ '^pg_') AND ("n"."nspname" <> 'information_schema') AND c.relkind in ('r', 'p', 'v', 'f', 'm')
       AND ("n"."nspname" IN ('public')) ORDER BY "type" ASC, "schema" ASC, "name" ASC`,
    `SELECT "c"."column_name" AS "name", FORMAT('%s', "c"."udt_name") AS "type", "c"."ordinal_position" - 1 AS "position",
       "c"."table_schema" AS "schema", "c"."table_name" AS "table", "pk"."column_name" IS NOT NULL AS "key",
       COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST("c"."table_schema" AS TEXT), CAST("c"."table_name" AS TEXT)) AS REGCLASS) AS OID), "c"."ordinal_position") AS "comment",
       (("column_default" IS NULL) OR (LOWER("column_default") = 'null')) AND ("is_nullable" = 'NO') AND NOT (("column_default" IS NOT NULL AND "column_default" LIKE '%nextval(%') OR ("is_identity" <> 'NO')) AS "required"
     FROM "information_schema"."columns" AS "c"
     LEFT JOIN (SELECT "t"."table_schema", "t"."table_name", "k"."column_name" FROM "information_schema"."table_constraints" AS "t"
                INNER JOIN "information_schema"."key_column_usage" AS "k" ON ("t"."constraint_name" = "k"."constraint_name")
                  AND ("t"."table_schema" = "k"."table_schema") AND ("t"."table_name" = "k"."table_name")
                WHERE "t"."constraint_type" = 'PRIMARY KEY') AS "pk"
       ON ("c"."table_schema" = "pk"."table_schema") AND ("c"."table_name" = "pk"."table_name") AND ("c"."column_name" = "pk"."column_name")
     WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND ("c"."table_schema" IN ('public'))
     ORDER BY "schema" ASC, "table" ASC, "position" ASC`,
    `SELECT "fn"."nspname" AS "schema", "ft"."relname" AS "table", "fc"."attname" AS "column", "pt"."relname" AS "target"
     FROM "pg_constraint" AS "c" INNER JOIN "pg_class" AS "ft" ON "c"."conrelid" = "ft"."oid"
     INNER JOIN "pg_namespace" AS "fn" ON "c"."connamespace" = "fn"."oid"
     INNER JOIN "pg_attribute" AS "fc" ON "c"."conrelid" = "fc"."attrelid" INNER JOIN "pg_class" AS "pt" ON "c"."confrelid" = "pt"."oid"
     WHERE ("c"."contype" = 'f'::char) AND ("fc"."attnum" = ANY(c.conkey)) ORDER BY 1, 2`,
    `SELECT "x"."schema", "x"."table", TRIM(BOTH '"' FROM "pg_catalog"."pg_get_indexdef"("x"."index", "x"."at", FALSE)) AS "column"
     FROM (SELECT "n"."nspname" AS "schema", "t"."relname" AS "table", "i"."oid" AS "index", (information_schema._pg_expandarray("ix"."indkey")).n AS "at"
           FROM "pg_catalog"."pg_class" AS "t" INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "t"."relnamespace" = "n"."oid"
           INNER JOIN "pg_catalog"."pg_index" AS "ix" ON "t"."oid" = "ix"."indrelid"
           INNER JOIN "pg_catalog"."pg_class" AS "i" ON "i"."oid" = "ix"."indexrelid"
           WHERE ("pg_catalog"."pg_get_expr"("ix"."indpred", "ix"."indrelid") IS NULL) AND n.nspname !~ '^information_schema|pg_') AS "x"
     WHERE "x"."at" = 1 ORDER BY 1, 2`,
    `SELECT c.relname AS "table", n.nspname AS "schema",
       pg_catalog.has_any_column_privilege(current_user, '"' || n.nspname || '"."' || c.relname || '"', 'select') AS "select",
       pg_catalog.has_table_privilege(current_user, '"' || n.nspname || '"."' || c.relname || '"', 'insert') AS "insert"
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'v', 'm') ORDER BY 1`,
    `SHOW TIMEZONE`,
    `SELECT "public"."trades"."id" AS "id", "public"."trades"."symbol" AS "symbol", "public"."trades"."price" AS "price",
       "public"."trades"."executed_at" AS "executed_at" FROM "public"."trades" ORDER BY "public"."trades"."id" ASC LIMIT 20`,
    `-- questions carry a comment with the user and a hash
SELECT SUBSTRING("public"."instruments"."name", 1, 1234) AS "name" FROM "public"."instruments" ORDER BY 1 LIMIT 10`,
    `SELECT DATE_TRUNC('month', "public"."trades"."executed_at") AS "executed_at", COUNT(*) AS "count" FROM "public"."trades"
     GROUP BY DATE_TRUNC('month', "public"."trades"."executed_at") ORDER BY DATE_TRUNC('month', "public"."trades"."executed_at") ASC`,
    `SELECT CAST("public"."trades"."executed_at" AS date) AS "day", SUM("public"."trades"."quantity") AS "sum" FROM "public"."trades"
     WHERE "public"."trades"."executed_at" >= timestamp with time zone '2026-01-06 00:00:00.000Z'
       AND "public"."trades"."executed_at" < timestamp with time zone '2026-01-08 00:00:00.000Z'
     GROUP BY CAST("public"."trades"."executed_at" AS date) ORDER BY 1`,
    `SELECT "source"."sector" AS "sector", AVG("source"."price") AS "avg" FROM (
       SELECT "public"."trades"."price" AS "price", "Instruments"."sector" AS "sector" FROM "public"."trades"
       LEFT JOIN "public"."instruments" AS "Instruments" ON "public"."trades"."symbol" = "Instruments"."symbol") AS "source"
     GROUP BY "source"."sector" ORDER BY "source"."sector" ASC`,
    `SELECT COUNT(DISTINCT "public"."trades"."symbol") AS "count", FLOOR(("public"."trades"."quantity" / 100.0)) * 100.0 AS "bin"
     FROM "public"."trades" GROUP BY FLOOR(("public"."trades"."quantity" / 100.0)) * 100.0 ORDER BY 2`,
    `SELECT "public"."trades"."symbol" AS "symbol" FROM "public"."trades"
     WHERE (LOWER("public"."trades"."symbol") LIKE '%ac%') AND ("public"."trades"."venue" IS NOT NULL) AND ("public"."trades"."venue" <> '')
     GROUP BY "public"."trades"."symbol" ORDER BY "public"."trades"."symbol" ASC LIMIT 1000`,
    `SELECT TRUE AS "_" FROM "public"."trades" WHERE 1 <> 1 LIMIT 0`,
  ],
  /** Its navigator: databases, schemas, tables, columns, keys, indexes, types, roles. Sent by pgjdbc in the product. */
  dbeaver: [
    `SELECT current_schema(), session_user`,
    `SHOW search_path`,
    `SELECT d.oid, d.* FROM pg_catalog.pg_database d WHERE d.datname = 'gatehouse'`,
    `SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n
     LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY n.nspname`,
    `SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base, d.description
     FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type e ON e.oid = t.typelem
     LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid
     WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (e.typcategory IS NULL OR e.typcategory <> 'C') ORDER BY t.oid`,
    `SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS bound, pg_catalog.pg_get_partkeydef(c.oid) AS partition
     FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
     WHERE c.relnamespace = 'public'::regnamespace::oid AND c.relkind NOT IN ('i', 'I', 'c') ORDER BY c.relname`,
    `SELECT c.relname, a.*, pg_catalog.pg_get_expr(f.adbin, f.adrelid, true) AS fallback, d.description, dep.objid
     FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON a.attrelid = c.oid
     LEFT OUTER JOIN pg_catalog.pg_attrdef f ON a.attrelid = f.adrelid AND a.attnum = f.adnum
     LEFT OUTER JOIN pg_catalog.pg_description d ON c.oid = d.objoid AND a.attnum = d.objsubid
     LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid
     WHERE NOT a.attisdropped AND c.relkind NOT IN ('i', 'I', 'c') AND c.relname = 'trades' ORDER BY a.attnum`,
    `SELECT c.oid, c.*, t.relname AS tabname, rt.relnamespace AS refnamespace, d.description, pg_get_constraintdef(c.oid) AS definition
     FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
     LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid
     LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_constraint'::regclass
     WHERE t.relname = 'trades' ORDER BY c.oid`,
    `SELECT i.*, i.indkey AS keys, c.relname, c.relnamespace, c.relam, c.reltablespace, tc.relname AS tabname, d.description,
       pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS predicate, pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) AS expression,
       pg_catalog.pg_relation_size(i.indexrelid) AS size
     FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid
     LEFT OUTER JOIN pg_catalog.pg_description d ON i.indexrelid = d.objoid WHERE tc.relname = 'quotes' ORDER BY tabname, c.relname`,
    `SELECT a.oid, a.* FROM pg_catalog.pg_roles a ORDER BY a.rolname`,
    `SELECT x.oid, x.* FROM pg_catalog.pg_am x ORDER BY x.oid`,
    `SELECT t.oid, t.* FROM pg_catalog.pg_tablespace t ORDER BY t.oid`,
    `SELECT e.oid, e.extname, e.extversion, n.nspname FROM pg_catalog.pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace ORDER BY 1`,
    `SELECT p.oid, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid) AS arguments FROM pg_catalog.pg_proc p
     LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = p.oid WHERE p.pronamespace = 'public'::regnamespace ORDER BY p.proname`,
    `SELECT DISTINCT dep.deptype, dep.classid, cl.relkind, CASE WHEN cl.relkind IN ('r', 'v') THEN cl.relname END AS name
     FROM pg_depend dep LEFT JOIN pg_class cl ON dep.objid = cl.oid WHERE dep.refobjid = 'public.trades'::regclass ORDER BY 1, 2, 3`,
    `SELECT pg_catalog.pg_get_viewdef(c.oid, true) FROM pg_catalog.pg_class c WHERE c.relname = 'nothing_of_this_name'`,
    `SELECT * FROM pg_catalog.pg_stat_activity WHERE datname = 'nothing_of_this_name'`,
    `SELECT pg_catalog.pg_total_relation_size(c.oid) > 0 AS sized, c.reltuples::bigint >= -1 AS counted FROM pg_class c WHERE c.relname = 'trades'`,
    `SELECT x.* FROM public.trades x ORDER BY x.id LIMIT 20`,
    `SELECT count(*) FROM public.trades`,
    `SELECT t.* FROM public.instruments t WHERE t.symbol = 'ACME'`,
  ],
  /** What it loads when a pool opens its first connection, and the statements of its GetSchema. */
  npgsql: [
    `SELECT version();
SELECT ns.nspname, t.oid, t.typname, t.kind, t.typnotnull, t.element
FROM (SELECT typ.oid, typ.typnamespace, typ.typname, typ.kind, typ.typnotnull, typ.relkind, elem.oid AS element, elem.typname AS elementname,
        CASE WHEN elemproc.proname = 'array_recv' THEN 'a' ELSE elem.typtype END AS elementkind
      FROM (SELECT typ.oid, typnamespace, typname, typrelid, typnotnull, relkind,
              CASE WHEN proc.proname = 'array_recv' THEN 'a' ELSE typ.typtype END AS kind,
              CASE WHEN proc.proname = 'array_recv' THEN typ.typelem WHEN typ.typtype = 'r' THEN rngsubtype
                   WHEN typ.typtype = 'm' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = typ.oid)
                   WHEN typ.typtype = 'd' THEN typ.typbasetype END AS elemoid
            FROM pg_type AS typ LEFT JOIN pg_class AS cls ON cls.oid = typ.typrelid LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive
            LEFT JOIN pg_range ON pg_range.rngtypid = typ.oid) AS typ
      LEFT JOIN pg_type AS elem ON elem.oid = elemoid LEFT JOIN pg_proc AS elemproc ON elemproc.oid = elem.typreceive) AS t
JOIN pg_namespace AS ns ON ns.oid = typnamespace
WHERE kind IN ('b', 'r', 'm', 'e', 'd') OR (kind = 'c' AND relkind = 'c') OR (kind = 'p' AND typname IN ('record', 'void'))
  OR (kind = 'a' AND (elementkind IN ('b', 'r', 'm', 'e', 'd') OR (elementkind = 'p' AND elementname IN ('record', 'void'))))
ORDER BY CASE WHEN kind IN ('b', 'e', 'p') THEN 0 WHEN kind = 'r' THEN 1 WHEN kind = 'm' THEN 2 WHEN kind = 'c' THEN 3
  WHEN kind = 'd' THEN 4 WHEN kind = 'a' THEN 5 END, t.oid;
SELECT typ.oid, att.attname, att.atttypid FROM pg_type AS typ JOIN pg_class AS cls ON cls.oid = typ.typrelid
JOIN pg_attribute AS att ON att.attrelid = typ.typrelid
WHERE typ.typtype = 'c' AND cls.relkind = 'c' AND attnum > 0 AND NOT attisdropped ORDER BY typ.oid, att.attnum;
SELECT pg_type.oid, enumlabel FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid ORDER BY oid, enumsortorder;`,
    `SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables
     WHERE table_type IN ('BASE TABLE', 'FOREIGN', 'FOREIGN TABLE') AND table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 3`,
    `SELECT table_catalog, table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, udt_name::regtype::text AS data_type,
       character_maximum_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision
     FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position`,
    `SELECT table_catalog, table_schema, table_name, check_option, is_updatable FROM information_schema.views WHERE table_schema = 'public'`,
    `DISCARD ALL`,
  ],
  /** Power BI by its own connector, which is Npgsql: capital names of information_schema, and a subselect around each step. */
  'power-bi': [
    `select character_set_name from INFORMATION_SCHEMA.character_sets`,
    `select TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE from INFORMATION_SCHEMA.tables
     where TABLE_SCHEMA not in ('information_schema', 'pg_catalog') order by TABLE_SCHEMA, TABLE_NAME`,
    `select COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, case when (data_type like '%unsigned%') then DATA_TYPE || ' unsigned' else DATA_TYPE end as DATA_TYPE
     from INFORMATION_SCHEMA.columns where TABLE_SCHEMA = 'public' and TABLE_NAME = 'trades' order by TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION`,
    `select i.CONSTRAINT_SCHEMA || '_' || i.CONSTRAINT_NAME as INDEX_NAME, ii.COLUMN_NAME, ii.ORDINAL_POSITION,
       case when i.CONSTRAINT_TYPE = 'PRIMARY KEY' then 'Y' else 'N' end as PRIMARY_KEY
     from INFORMATION_SCHEMA.table_constraints i inner join INFORMATION_SCHEMA.key_column_usage ii
       on i.CONSTRAINT_SCHEMA = ii.CONSTRAINT_SCHEMA and i.CONSTRAINT_NAME = ii.CONSTRAINT_NAME and i.TABLE_SCHEMA = ii.TABLE_SCHEMA and i.TABLE_NAME = ii.TABLE_NAME
     where i.TABLE_SCHEMA = 'public' and i.TABLE_NAME = 'trades' and i.CONSTRAINT_TYPE in ('PRIMARY KEY', 'UNIQUE')
     order by i.CONSTRAINT_SCHEMA || '_' || i.CONSTRAINT_NAME, ii.TABLE_SCHEMA, ii.TABLE_NAME, ii.ORDINAL_POSITION`,
    `select pkcol.COLUMN_NAME as PK_COLUMN_NAME, fkcol.TABLE_SCHEMA AS FK_TABLE_SCHEMA, fkcol.TABLE_NAME AS FK_TABLE_NAME
     from (select distinct constraint_catalog, constraint_schema, unique_constraint_schema, constraint_name, unique_constraint_name from INFORMATION_SCHEMA.referential_constraints) fkcon
     inner join INFORMATION_SCHEMA.key_column_usage fkcol on fkcon.CONSTRAINT_SCHEMA = fkcol.CONSTRAINT_SCHEMA and fkcon.CONSTRAINT_NAME = fkcol.CONSTRAINT_NAME
     inner join INFORMATION_SCHEMA.key_column_usage pkcol on fkcon.UNIQUE_CONSTRAINT_SCHEMA = pkcol.CONSTRAINT_SCHEMA and fkcon.UNIQUE_CONSTRAINT_NAME = pkcol.CONSTRAINT_NAME
     where pkcol.TABLE_SCHEMA = 'public' and pkcol.TABLE_NAME = 'trades' order by 1`,
    `select "$Table"."symbol" as "symbol", "$Table"."quantity" as "quantity", "$Table"."price" as "price"
from "public"."trades" "$Table"
order by "$Table"."id"
limit 10`,
    `select * from (select symbol, price from trades order by id limit 5) "_" limit 1000 offset 0`,
    `select "rows"."symbol" as "symbol", sum(cast("rows"."quantity" as decimal)) as "a0", count(*) as "a1"
from (select "_"."symbol", "_"."quantity" from "public"."trades" "_" where "_"."side" = 'BUY' and "_"."side" is not null) "rows"
group by "symbol" order by 1`,
    `select "_"."symbol" as "c1", "_"."executed_at" as "c2" from "public"."trades" "_"
where "_"."executed_at" >= timestamp '2026-01-06 00:00:00' and "_"."executed_at" < timestamp '2026-01-06 09:00:00' order by "_"."id" limit 10`,
  ],
  /** Tableau by psqlODBC or pgjdbc: quoted names with an alias for each table, casts, groups by position, checks of what the server can do. */
  tableau: [
    `SELECT "trades"."symbol" AS "symbol", SUM("trades"."quantity") AS "sum:quantity:ok" FROM "public"."trades" "trades" GROUP BY 1 ORDER BY 1`,
    `SELECT "trades"."id" AS "id", "trades"."symbol" AS "symbol", CAST("trades"."price" AS DOUBLE PRECISION) AS "price"
FROM "public"."trades" "trades" WHERE ("trades"."symbol" IN ('ACME', 'BOLT')) ORDER BY "trades"."id" LIMIT 10`,
    `SELECT DATE_TRUNC('DAY', "trades"."executed_at") AS "tdy:executed_at:ok", AVG("trades"."price") AS "avg:price:ok"
FROM "public"."trades" "trades" GROUP BY 1 ORDER BY 1`,
    `SELECT CAST(EXTRACT(YEAR FROM "trades"."executed_at") AS BIGINT) AS "yr:executed_at:ok", COUNT(1) AS "cnt"
FROM "public"."trades" "trades" GROUP BY 1 HAVING (COUNT(1) > 0)`,
    `SELECT MIN("trades"."executed_at") AS "lower", MAX("trades"."executed_at") AS "upper" FROM "public"."trades" "trades" HAVING (COUNT(1) > 0)`,
    `SELECT "t0"."sector" AS "sector", SUM("trades"."quantity") AS "volume" FROM "public"."trades" "trades"
  INNER JOIN "public"."instruments" "t0" ON ("trades"."symbol" = "t0"."symbol") GROUP BY 1 ORDER BY 2 DESC`,
    `SELECT * FROM (SELECT symbol, price FROM trades) "Custom SQL Query" LIMIT 0`,
    `SELECT SUBSTRING(CAST("instruments"."name" AS TEXT) FROM 1 FOR 4) AS "start", POSITION('a' IN "instruments"."name") AS "at"
FROM "public"."instruments" "instruments" ORDER BY "instruments"."symbol" LIMIT 5`,
    `SELECT CURRENT_TIMESTAMP > '2020-01-01'::timestamptz AS "later", CURRENT_DATE > '2020-01-01'::date AS "today"`,
  ],
}
