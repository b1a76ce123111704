/** The scalar functions of catalogue statements: the type of each, and its SQL. Those without SQL are registered in ../functions. */
import { findRepresentation, isVector, OID } from '../data/types.ts'
import type { Typed } from './typed.ts'

export interface Scalar {
  readonly returns: number | ((args: readonly Typed[]) => number)
  /** The types of its parameters, for literals and parameters without one; the last one is for all that follow. `any`: as given. */
  readonly takes: readonly (number | 'any')[]
  readonly least: number
  readonly most: number
  /** Undefined: a registered function with the prefix gh_. */
  readonly sql?: ((args: readonly string[], values: readonly Typed[]) => string) | undefined
  /** The name of its result column, where it differs from its own. */
  readonly resultName?: string
}

const { bool, float8, int2, int4, int8, name, oid, text, timestamptz, regclass, regtype, xid } = OID
const NAMES = 1003
const TEXTS = 1009

type Sql = Scalar['sql']
type Takes = Scalar['takes']

/** `takes` lists required parameters, `optional` further ones. */
function entry(returns: Scalar['returns'], takes: Takes = [], sql?: Sql, optional: Takes = []): Scalar {
  return { returns, takes: [...takes, ...optional], least: takes.length, most: takes.length + optional.length, sql }
}

/** Any number of arguments. */
function variadic(returns: Scalar['returns'], takes: number | 'any', sql?: Sql): Scalar {
  return { returns, takes: [takes], least: 1, most: 100, sql }
}

function constant(returns: number, sql: string, takes: Takes = [], optional: Takes = []): Scalar {
  return entry(returns, takes, () => sql, optional)
}

/** The same entry under several names. */
function all(names: string, make: (name: string) => Scalar): [string, Scalar][] {
  return names.split(' ').map((one) => [one, make(one)])
}

const plain =
  (sqlite: string): Sql =>
  (args) =>
    `${sqlite}(${args.join(', ')})`

const sameAsFirst = ([first]: readonly Typed[]): number => first?.type ?? text

export const SCALARS: ReadonlyMap<string, Scalar> = new Map<string, Scalar>([
  // Objects.
  ['format_type', entry(text, [oid, int4])],
  [
    'pg_get_indexdef',
    entry(text, [oid], (args) => `gh_indexdef(${args[0]}, ${args[1] ?? '0'}, ${args[2] ?? '0'})`, [int4, bool]),
  ],
  ['pg_get_constraintdef', entry(text, [oid], (args) => `gh_constraintdef(${args[0]})`, [bool])],
  ['pg_get_expr', entry(text, ['any', oid], (args) => args[0] ?? 'NULL', [bool])],
  ['pg_get_viewdef', entry(text, [regclass], (args) => `gh_viewdef(${args[0]})`, ['any'])],
  ['obj_description', entry(text, [oid], (args) => `gh_description(${args[0]}, ${args[1] ?? 'NULL'}, 0)`, [name])],
  ['shobj_description', constant(text, 'NULL', [oid, name])],
  ['col_description', entry(text, [oid, int4], (args) => `gh_description(${args[0]}, 'pg_class', ${args[1]})`)],
  ['pg_get_userbyid', entry(name, [oid])],
  ['to_regclass', entry(regclass, [text], (args) => `gh_try_object(${regclass}, ${args[0]})`)],
  ['to_regtype', entry(regtype, [text], (args) => `gh_try_object(${regtype}, ${args[0]})`)],
  ['to_regnamespace', entry(OID.regnamespace, [text], (args) => `gh_try_object(${OID.regnamespace}, ${args[0]})`)],
  ['to_regrole', entry(OID.regrole, [text], (args) => `gh_try_object(${OID.regrole}, ${args[0]})`)],
  ['to_regproc', entry(OID.regproc, [text], (args) => `gh_try_object(${OID.regproc}, ${args[0]})`)],
  ...all(
    'pg_table_is_visible pg_type_is_visible pg_function_is_visible pg_operator_is_visible pg_opclass_is_visible pg_opfamily_is_visible pg_collation_is_visible pg_conversion_is_visible pg_statistics_obj_is_visible pg_ts_config_is_visible pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible',
    (visible) => entry(bool, [oid], (args) => `gh_is_visible('${visible}', ${args[0]})`),
  ),
  ...all(
    'pg_get_ruledef pg_get_triggerdef pg_get_functiondef pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result pg_get_function_sqlbody pg_get_partkeydef pg_get_partition_constraintdef pg_get_statisticsobjdef pg_get_statisticsobjdef_columns pg_get_statisticsobjdef_expressions pg_describe_object pg_get_function_arg_default',
    () => constant(text, 'NULL', ['any'], ['any', 'any']),
  ),
  ['pg_get_serial_sequence', constant(text, 'NULL', [text, text])],
  ['pg_relation_is_publishable', constant(bool, '0', [regclass])],
  ['pg_get_replica_identity_index', constant(regclass, 'NULL', [regclass])],
  ['pg_index_column_has_property', entry(bool, [regclass, int4, text])],
  ['pg_index_has_property', constant(bool, 'NULL', [regclass, text])],
  ['pg_indexam_has_property', constant(bool, 'NULL', [oid, text])],
  ['pg_relation_filenode', entry(oid, [regclass], (args) => args[0] ?? 'NULL')],
  ['pg_partition_root', constant(regclass, 'NULL', [regclass])],
  ['pg_filenode_relation', constant(regclass, 'NULL', [oid, oid])],
  // Rights: what the caller may not read is not in the catalogue.
  ...all('has_table_privilege has_any_column_privilege', () =>
    entry(bool, ['any', 'any'], (args, values) => tablePrivilege(args, values), ['any']),
  ),
  [
    'has_column_privilege',
    entry(bool, ['any', 'any', 'any'], (args, values) => columnPrivilege(args, values), ['any']),
  ],
  ...all('has_schema_privilege has_database_privilege', (one) =>
    entry(bool, ['any', 'any'], (args) => `gh_${one}(${args.at(-2)}, ${args.at(-1)})`, ['any']),
  ),
  ...all('has_function_privilege has_language_privilege has_type_privilege has_parameter_privilege', () =>
    constant(bool, '1', ['any', 'any'], ['any']),
  ),
  ...all(
    'has_sequence_privilege has_tablespace_privilege has_server_privilege has_foreign_data_wrapper_privilege',
    () => constant(bool, '0', ['any', 'any'], ['any']),
  ),
  ['pg_has_role', entry(bool, ['any', 'any'], (args) => `gh_pg_has_role(${args.at(-2)})`, ['any'])],
  ['row_security_active', constant(bool, '0', ['any'])],
  // The session and the server.
  ['current_setting', entry(text, [text], (args) => `gh_current_setting(${args[0]}, ${args[1] ?? '0'})`, [bool])],
  ['set_config', entry(text, [text, text, bool])],
  [
    'current_schemas',
    entry(NAMES, [bool], (args) => `CASE ${args[0]} WHEN 1 THEN '["pg_catalog","public"]' ELSE '["public"]' END`),
  ],
  ['current_schema', constant(name, "'public'")],
  ...all('current_database current_catalog', (one) => ({ ...constant(name, "'gatehouse'"), resultName: one })),
  ...all('current_user session_user user current_role', () => entry(name, [], () => 'gh_user()')),
  ['version', entry(text, [], () => 'gh_version()')],
  [
    'pg_encoding_to_char',
    entry(name, [int4], (args) => `CASE ${args[0]} WHEN 6 THEN 'UTF8' WHEN 0 THEN 'SQL_ASCII' ELSE '' END`),
  ],
  ['pg_char_to_encoding', entry(int4, [name], (args) => `CASE upper(${args[0]}) WHEN 'UTF8' THEN 6 ELSE -1 END`)],
  ['getdatabaseencoding', constant(name, "'UTF8'")],
  ['pg_client_encoding', constant(name, "'UTF8'")],
  ['pg_backend_pid', entry(int4, [], () => 'gh_backend_pid()')],
  ['pg_cancel_backend', entry(bool, [int4], (args) => `gh_cancel_backend(${args[0]})`)],
  ['pg_is_in_recovery', constant(bool, '0')],
  ['pg_is_wal_replay_paused', constant(bool, '0')],
  ['pg_postmaster_start_time', entry(timestamptz, [], () => 'gh_started()')],
  ['pg_conf_load_time', entry(timestamptz, [], () => 'gh_started()')],
  ...all('now current_timestamp transaction_timestamp statement_timestamp clock_timestamp', () =>
    entry(timestamptz, [], () => 'gh_now()'),
  ),
  ['inet_server_addr', constant(869, 'NULL')],
  ['inet_client_addr', constant(869, 'NULL')],
  ['inet_server_port', constant(int4, 'NULL')],
  ['inet_client_port', constant(int4, 'NULL')],
  ...all('pg_advisory_unlock_all pg_stat_clear_snapshot', () => constant(OID.void, "''")),
  ['pg_my_temp_schema', constant(oid, '0')],
  ['pg_is_other_temp_schema', constant(bool, '0', [oid])],
  ['pg_jit_available', constant(bool, '0')],
  ['txid_current', constant(int8, '1')],
  ['age', constant(int4, '0', [xid])],
  ['pg_tablespace_location', constant(text, "''", [oid])],
  ['pg_encoding_max_length', constant(int4, '4', [int4])],
  ...all(
    'pg_relation_size pg_table_size pg_total_relation_size pg_indexes_size pg_database_size pg_tablespace_size',
    () => constant(int8, '0', ['any'], ['any']),
  ),
  ['pg_size_pretty', entry(text, [int8], (args) => `(${args[0]} || ' bytes')`)],
  ...all(
    'pg_stat_get_numscans pg_stat_get_tuples_returned pg_stat_get_tuples_fetched pg_stat_get_tuples_inserted pg_stat_get_tuples_updated pg_stat_get_tuples_deleted pg_stat_get_live_tuples pg_stat_get_dead_tuples pg_stat_get_blocks_fetched pg_stat_get_blocks_hit',
    () => constant(int8, '0', [oid]),
  ),
  // Arrays.
  [
    'array_to_string',
    entry(
      text,
      ['any', text],
      (args, values) => `gh_array_to_string(${args[0]}, ${values[0]?.type ?? 0}, ${args[1]}, ${args[2] ?? 'NULL'})`,
      [text],
    ),
  ],
  [
    'string_to_array',
    entry(TEXTS, [text, text], (args) => `gh_string_to_array(${args[0]}, ${args[1]}, ${args[2] ?? 'NULL'})`, [text]),
  ],
  ['array_length', entry(int4, ['any', int4], (args) => `nullif(json_array_length(${args[0]}), 0)`)],
  [
    'array_upper',
    entry(
      int4,
      ['any', int4],
      (args, [array]) => `(nullif(json_array_length(${args[0]}), 0) - ${isVector(array?.type ?? 0) ? 1 : 0})`,
    ),
  ],
  [
    'array_lower',
    entry(
      int4,
      ['any', int4],
      (args, [array]) => `CASE WHEN json_array_length(${args[0]}) > 0 THEN ${isVector(array?.type ?? 0) ? 0 : 1} END`,
    ),
  ],
  ['array_ndims', entry(int4, ['any'], (args) => `CASE WHEN json_array_length(${args[0]}) > 0 THEN 1 END`)],
  ['cardinality', entry(int4, ['any'], (args) => `json_array_length(${args[0]})`)],
  [
    'array_position',
    entry(
      int4,
      ['any', 'any'],
      (args, [array]) =>
        `(SELECT min(e.key) + ${isVector(array?.type ?? 0) ? 0 : 1} FROM json_each(${args[0]}) e WHERE e.value IS ${args[1]})`,
    ),
  ],
  [
    'array_append',
    entry(sameAsFirst, ['any', 'any'], (args) => `json_insert(coalesce(${args[0]}, '[]'), '$[#]', ${args[1]})`),
  ],
  [
    'array_prepend',
    entry(
      (args) => args[1]?.type ?? TEXTS,
      ['any', 'any'],
      (args) => `gh_array_cat(json_array(${args[0]}), ${args[1]})`,
    ),
  ],
  ['array_cat', entry(sameAsFirst, ['any', 'any'])],
  [
    'array_remove',
    entry(
      sameAsFirst,
      ['any', 'any'],
      (args) => `(SELECT json_group_array(e.value) FROM json_each(${args[0]}) e WHERE e.value IS NOT ${args[1]})`,
    ),
  ],
  // Texts.
  ['quote_ident', entry(text, [text])],
  ['quote_literal', entry(text, ['any'], plain('quote'))],
  [
    'quote_nullable',
    entry(text, ['any'], (args) => `CASE WHEN ${args[0]} IS NULL THEN 'NULL' ELSE quote(${args[0]}) END`),
  ],
  ...all('lower upper reverse', (one) => entry(text, [text], one === 'reverse' ? undefined : plain(one))),
  ...all('length char_length character_length', () => entry(int4, [text], plain('length'))),
  ['octet_length', entry(int4, [text], plain('octet_length'))],
  ...all('substr substring', () => entry(text, [text, 'any'], (args, [, second]) => substring(args, second), [int4])),
  ['replace', entry(text, [text, text, text], plain('replace'))],
  ['translate', entry(text, [text, text, text])],
  ...all('btrim ltrim rtrim', (one) => entry(text, [text], plain(one === 'btrim' ? 'trim' : one), [text])),
  ['split_part', entry(text, [text, text, int4])],
  ['left', entry(text, [text, int4])],
  ['right', entry(text, [text, int4])],
  [
    'concat',
    variadic(
      text,
      'any',
      (args, values) =>
        `(${args.map((arg, at) => `coalesce(gh_text(${arg}, ${values[at]?.type ?? text}), '')`).join(' || ')})`,
    ),
  ],
  ['concat_ws', variadic(text, 'any', (args) => plain('concat_ws')?.(args, []) ?? '')],
  ...all('strpos position', (one) =>
    entry(int4, [text, text], (args) => `instr(${(one === 'strpos' ? args : args.toReversed()).join(', ')})`),
  ),
  ['starts_with', entry(bool, [text, text], (args) => `(substr(${args[0]}, 1, length(${args[1]})) = ${args[1]})`)],
  [
    'regexp_replace',
    entry(
      text,
      [text, text, text],
      (args) => `gh_regexp_replace(${args[0]}, ${args[1]}, ${args[2]}, ${args[3] ?? "''"})`,
      [text],
    ),
  ],
  [
    'regexp_match',
    entry(TEXTS, [text, text], (args) => `gh_regexp_match(${args[0]}, ${args[1]}, ${args[2] ?? "''"})`, [text]),
  ],
  ...all('json_build_object jsonb_build_object', () =>
    variadic(
      OID.json,
      'any',
      (args, values) => `json_object(${args.map((arg, at) => jsonMember(arg, values[at])).join(', ')})`,
    ),
  ),
  [
    'format',
    variadic(
      text,
      'any',
      (args, values) =>
        `gh_format(${args.map((arg, at) => (at === 0 ? arg : `gh_text(${arg}, ${values[at]?.type ?? text})`)).join(', ')})`,
    ),
  ],
  ['parse_ident', entry(TEXTS, [text], (args) => `gh_parse_ident(${args[0]})`, [bool])],
  ['initcap', entry(text, [text])],
  ['repeat', entry(text, [text, int4])],
  ['ascii', entry(int4, [text], plain('unicode'))],
  ['chr', entry(text, [int4], plain('char'))],
  ['md5', entry(text, [text])],
  ['lpad', entry(text, [text, int4], (args) => `gh_lpad(${args[0]}, ${args[1]}, ${args[2] ?? "' '"})`, [text])],
  // Numbers.
  ['abs', entry(sameAsFirst, ['any'], plain('abs'))],
  [
    'mod',
    entry(sameAsFirst, ['any', 'any'], (args, values) => {
      const isReal = values.some(({ type }) => findRepresentation(type) === 'real')
      return `gh_divide('%', ${isReal ? 1 : 0}, ${args[0]}, ${args[1]})`
    }),
  ],
  ...all('floor ceil ceiling', (one) => entry(float8, [float8], plain(one === 'ceiling' ? 'ceil' : one))),
  ['round', entry(OID.numeric, ['any'], (args) => `gh_round(${args[0]}, ${args[1] ?? '0'})`, [int4])],
  // The upper 53 of SQLite's 64 random bits.
  ['random', entry(float8, [], () => '(((random() >> 11) & 9007199254740991) / 9007199254740992.0)')],
  ['pg_typeof', entry(regtype, ['any'], (_args, [value]) => String(value?.type ?? text))],
  // Of information_schema.
  ['_pg_truetypid', entry(oid, ['any', 'any'], () => 'NULL')],
  ['_pg_char_max_length', constant(int4, 'NULL', [oid, int4])],
  ['_pg_index_position', constant(int4, 'NULL', [oid, int2])],
  ['pg_get_partition_ancestors', constant(regclass, 'NULL', [regclass])],
  ['pg_column_is_updatable', constant(bool, '1', [regclass, int2, bool])],
  ['pg_relation_is_updatable', constant(int4, '28', [regclass, bool])],
])

function tablePrivilege(args: readonly string[], values: readonly Typed[]): string {
  return `gh_has_table_privilege(${asTable(args.at(-2), values.at(-2))}, ${args.at(-1)})`
}

function columnPrivilege(args: readonly string[], values: readonly Typed[]): string {
  return `gh_has_table_privilege(${asTable(args.at(-3), values.at(-3))}, ${args.at(-1)})`
}

/** A table is given by its name or its OID. */
function asTable(sql: string | undefined, value: Typed | undefined): string {
  return value?.type === oid || value?.type === regclass || value?.type === int4 || value?.type === int8
    ? (sql ?? 'NULL')
    : `gh_find_object(${regclass}, ${sql})`
}

/** Booleans are 0 and 1 elsewhere. */
function jsonMember(sql: string, value: Typed | undefined): string {
  return value?.type === bool ? `json(CASE ${sql} WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE 'null' END)` : sql
}

/** By position, or by a regular expression. */
function substring(args: readonly string[], second: Typed | undefined): string {
  if (second?.type === text || second?.type === OID.unknown) return `gh_regexp_substring(${args[0]}, ${args[1]})`
  return `gh_substr(${args[0]}, ${args[1]}, ${args[2] ?? 'NULL'})`
}
