/** The settings that pg_settings and current_setting show, as they are for every session. */

export const SETTINGS: ReadonlyMap<string, string> = new Map([
  ['application_name', ''],
  ['block_size', '8192'],
  ['bytea_output', 'hex'],
  ['client_encoding', 'UTF8'],
  ['client_min_messages', 'notice'],
  ['DateStyle', 'ISO, MDY'],
  ['default_table_access_method', 'heap'],
  ['default_transaction_isolation', 'read committed'],
  ['default_transaction_read_only', 'off'],
  ['extra_float_digits', '1'],
  ['in_hot_standby', 'off'],
  ['integer_datetimes', 'on'],
  ['IntervalStyle', 'postgres'],
  ['is_superuser', 'off'],
  ['jit', 'off'],
  ['lc_collate', 'C'],
  ['lc_ctype', 'C'],
  ['max_identifier_length', '63'],
  ['max_index_keys', '32'],
  ['search_path', '"$user", public'],
  ['server_encoding', 'UTF8'],
  ['server_version', '15.0'],
  ['server_version_num', '150000'],
  ['standard_conforming_strings', 'on'],
  ['statement_timeout', '0'],
  ['TimeZone', 'UTC'],
  ['transaction_isolation', 'read committed'],
  ['transaction_read_only', 'off'],
  ['wal_level', 'replica'],
])

export function findSetting(name: string): string | undefined {
  const key = name.toLowerCase()
  for (const [setting, value] of SETTINGS) if (setting.toLowerCase() === key) return value
  return undefined
}
