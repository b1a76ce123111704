/** The rows of pg_catalog's tables that are the same for all callers. */
import { SETTINGS } from '../data/settings.ts'
import { FUNCTIONS, NAMESPACES } from './catalogue-model.ts'
import { BTREE, C_COLLATION, COLLATION, type Fill, HEAP } from './filling.ts'
import { DATABASE_OID, OWNER_OID } from './objects.ts'

/** By table. */
export const SERVER_FILLINGS: ReadonlyMap<string, Fill> = new Map<string, Fill>([
  [
    'pg_namespace',
    () => ({
      columns: ['oid', 'nspname'],
      constants: { nspowner: OWNER_OID },
      rows: [...NAMESPACES].map(([name, oid]) => [oid, name]),
    }),
  ],
  [
    'pg_proc',
    () => ({
      columns: ['oid', 'proname', 'prorettype', 'proargtypes', 'pronargs', 'prosrc'],
      constants: {
        pronamespace: 11,
        proowner: OWNER_OID,
        prolang: 12,
        procost: 1,
        prokind: 'f',
        proisstrict: 1,
        provolatile: 'i',
        proparallel: 's',
      },
      rows: FUNCTIONS.map(({ oid, name, returns, takes }) => [
        oid,
        name,
        returns,
        JSON.stringify(takes),
        takes.length,
        name,
      ]),
    }),
  ],
  [
    'pg_database',
    () => ({
      columns: ['oid', 'datname'],
      constants: {
        datdba: OWNER_OID,
        encoding: 6,
        datlocprovider: 'c',
        datallowconn: 1,
        datconnlimit: -1,
        dattablespace: 1663,
        datcollate: 'C',
        datctype: 'C',
      },
      rows: [[DATABASE_OID, 'gatehouse']],
    }),
  ],
  [
    'pg_am',
    () => ({
      columns: ['oid', 'amname', 'amtype'],
      rows: [
        [HEAP, 'heap', 't'],
        [BTREE, 'btree', 'i'],
      ],
    }),
  ],
  [
    'pg_collation',
    () => ({
      columns: ['oid', 'collname', 'collprovider', 'collcollate', 'collctype'],
      constants: { collnamespace: 11, collowner: OWNER_OID, collisdeterministic: 1, collencoding: -1 },
      rows: [
        [COLLATION, 'default', 'd', null, null],
        [C_COLLATION, 'C', 'c', 'C', 'C'],
        [951, 'POSIX', 'c', 'POSIX', 'POSIX'],
      ],
    }),
  ],
  [
    'pg_tablespace',
    () => ({
      columns: ['oid', 'spcname'],
      constants: { spcowner: OWNER_OID },
      rows: [
        [1663, 'pg_default'],
        [1664, 'pg_global'],
      ],
    }),
  ],
  [
    'pg_language',
    () => ({
      columns: ['oid', 'lanname', 'lanpltrusted'],
      constants: { lanowner: OWNER_OID },
      rows: [
        [12, 'internal', 0],
        [13, 'c', 0],
        [14, 'sql', 1],
      ],
    }),
  ],
  [
    'pg_settings',
    () => ({
      columns: ['name', 'setting', 'boot_val', 'reset_val', 'vartype'],
      constants: { category: 'Preset Options', context: 'user', source: 'default', pending_restart: 0 },
      rows: [...SETTINGS].map(([name, value]) => [
        name,
        value,
        value,
        value,
        /^(on|off)$/.test(value) ? 'bool' : /^-?\d+$/.test(value) ? 'integer' : 'string',
      ]),
    }),
  ],
])
