/** How the answers to recorded statements on the catalogue may differ from those of a PostgreSQL, and why. Everything else is compared. */

export interface Exception {
  readonly why: string
  /** In the text of the statements; all of them if it is absent. */
  readonly text?: RegExp
  /** The columns whose values are not compared. */
  readonly columns?: readonly string[]
  /** Rows of PostgreSQL, as JSON, that may be missing. */
  readonly lacks?: RegExp
  /** Rows that only Gatehouse has. */
  readonly adds?: RegExp
  /** The SQLSTATE of our error, where PostgreSQL's is another. */
  readonly code?: string
}

const ANY = /^/
/** Rows that say nothing about the tables of the demonstration. */
const OF_THE_SYSTEM = /^(?!.*"_?(trades|quotes|instruments)(_pkey)?")/

export const EXCEPTIONS: readonly Exception[] = [
  { why: 'the version of the server', columns: ['version'] },
  {
    why: 'bytes on disk, which the catalogue does not know',
    text: /pg_(table|relation|total_relation|database|indexes)_size/,
    columns: ['Size', 'size', 'sized'],
  },
  {
    why: 'estimates of rows and pages, which the catalogue does not have',
    columns: ['relpages', 'reltuples', 'CARDINALITY', 'PAGES'],
  },
  { why: 'statistics of tables, which the catalogue does not have', text: /n_live_tup/, columns: ['rows'] },
  {
    why: 'transaction ids, which other engines do not have',
    columns: ['datfrozenxid', 'datminmxid', 'relfrozenxid', 'relminmxid'],
  },
  { why: 'rights are scopes, and not lists of roles', columns: ['relacl', 'nspacl', 'Access privileges'] },
  {
    why: 'comments on the schemas and types of PostgreSQL itself',
    text: /pg_catalog\.pg_(namespace n|type t)\b/,
    columns: ['description', 'Description'],
  },
  {
    why: 'the owner is no superuser, and cannot sign in',
    columns: ['rolsuper', 'rolcreaterole', 'rolcreatedb', 'rolcanlogin', 'rolreplication', 'rolbypassrls'],
  },
  { why: 'the roles that PostgreSQL itself defines', text: /FROM pg_catalog\.pg_roles a\b/, lacks: /^\["\d+","pg_/ },
  { why: 'the owner of the schema public', text: /\bn\.nspowner\b|n\.\*/, columns: ['Owner', 'nspowner'] },
  { why: 'one database', text: /FROM pg_catalog\.pg_database\b/, lacks: /"(postgres|template[01])"/ },
  { why: 'TOAST tables', columns: ['reltoastrelid'], lacks: /"pg_toast/ },
  {
    why: 'the indexes of the catalogue itself',
    text: /c\.oid = '1259' AND c\.oid = i\.indrelid|FROM pg_indexes\s+JOIN/,
    lacks: /"pg_\w+_index"/,
  },
  {
    why: 'system columns of tables',
    text: /FROM pg_catalog\.pg_attribute a\s+INNER JOIN pg_catalog\.pg_class c ON .*ORDER BY a\.attnum/s,
    lacks: /"(tableoid|cmax|xmax|cmin|xmin|ctid)"/,
  },
  { why: 'options of columns, which only PostgreSQL has', columns: ['attoptions'] },
  {
    why: 'functions, which are not listed except those of types',
    text: /pg_get_function_arguments\(p\.oid\)/,
    lacks: ANY,
  },
  { why: 'functions, which are not listed: a name has none', text: /regproc::pg_catalog\.oid/, code: '42883' },
  {
    why: 'types of rows of the catalogue itself, ranges and domains',
    text: /pg_type/,
    lacks: OF_THE_SYSTEM,
  },
  {
    why: 'access methods, of which there are two without handlers',
    text: /FROM pg_catalog\.pg_am\b/,
    columns: ['amhandler'],
    lacks: /"(hash|gist|gin|brin|spgist)"/,
  },
  {
    why: 'operator classes, operators and casts, which are not listed',
    text: /FROM pg_catalog\.(pg_opclass|pg_operator|pg_cast)\b/,
    lacks: ANY,
  },
  { why: 'extensions, of which there are none', text: /pg_extension\b/, lacks: /plpgsql/ },
  { why: 'dependencies, which are not listed', text: /FROM pg_depend\b/, lacks: ANY },
  { why: 'the just-in-time compiler, which is off', text: /current_setting\('jit'\)/, columns: ['cur'] },
  {
    why: 'constraints are shown to all who may read their tables, not only to those who may write',
    text: /table_constraints/,
    columns: ['key'],
    adds: /"public_trades_pkey"/,
  },
]

/**
 * Lists over the whole catalogue, of which the recordings have only the beginning and the number of rows: what PostgreSQL has of its own
 * there, such as TOAST tables, functions, system columns and domains, is more than ours.
 */
export const CUT: readonly RegExp[] = [
  /FROM\s+pg_catalog\.pg_attribute\s+ORDER BY\s+attrelid, attnum/,
  /relpages, attname,\s+pg_type\.typname type_name/,
  /t\.typrelid AS id/,
  /attidentity, c\.relhassubclass/,
  /as PROCEDURE_CAT|proname, proretset, prorettype/,
  /'SYSTEM TOAST TABLE'/,
  /format_type\(nullif\(t\.typbasetype, 0\), t\.typtypmod\) AS base/,
]
