/** Statements of the recordings whose rows differ from those of a PostgreSQL, and why. Their columns must be the same. */

interface Exception {
  readonly why: string
  /** In the text of the statement. */
  readonly text: RegExp
}

export const EXCEPTIONS: readonly Exception[] = [
  { why: 'the version of the server', text: /\bversion\(\)/i },
  {
    why: 'bytes on disk, which the catalogue does not know',
    text: /pg_(table|relation|total_relation|database|indexes)_size/,
  },
  {
    why: 'estimates of rows and pages, which the catalogue does not have',
    text: /reltuples|relpages|n_live_tup|SELECT c\.oid, c\.\*/,
  },
  { why: 'rights are scopes, and not lists of roles', text: /\b(rel|nsp|dat|att|typ)acl\b|SELECT n\.oid, n\.\*/ },
  { why: 'the roles of the server', text: /\brolsuper\b|FROM pg_catalog\.pg_roles a\b/ },
  { why: 'the owner of the schema public', text: /n\.nspname AS "Name",\s+pg_catalog\.pg_get_userbyid\(n\.nspowner\)/ },
  { why: 'one database', text: /FROM pg_catalog\.pg_database\b/ },
  {
    why: 'TOAST tables, and the indexes and types of the catalogue itself',
    text: /relkind IN \('r','p','t','s',''\)|c\.oid = '1259' AND c\.oid = i\.indrelid|FROM pg_indexes\s+JOIN|t\.typrelid AS id/,
  },
  { why: 'all tables of all schemas, with TOAST tables', text: /'SYSTEM TOAST TABLE'|attidentity, c\.relhassubclass/ },
  {
    why: 'system columns of tables',
    text: /FROM\s+pg_catalog\.pg_attribute\s+ORDER BY\s+attrelid, attnum|FROM pg_catalog\.pg_attribute a\s+INNER JOIN pg_catalog\.pg_class c ON .*ORDER BY a\.attnum/s,
  },
  {
    why: 'functions, which are not listed except those of types',
    text: /pg_catalog\.pg_proc p|pg_proc\b.*pg_namespace|regproc::pg_catalog\.oid/s,
  },
  {
    why: 'types of rows of the catalogue itself, ranges and domains; comments on types',
    text: /FROM pg_catalog\.pg_type (WHERE \(typreceive|t\b)|typinput\s?=|pg_type.*typelem/s,
  },
  { why: 'access methods, of which there are two', text: /FROM pg_catalog\.pg_am\b/ },
  {
    why: 'operator classes, operators and casts, which are not listed',
    text: /FROM pg_catalog\.(pg_opclass|pg_operator|pg_cast)\b/,
  },
  { why: 'extensions, of which there are none', text: /pg_extension\b/ },
  { why: 'dependencies, which are not listed', text: /FROM pg_depend\b/ },
  { why: 'the just-in-time compiler, which is off', text: /current_setting\('jit'\)/ },
  {
    why: 'constraints are shown to all who may read their tables, not only to those who may write',
    text: /table_constraints/,
  },
]
