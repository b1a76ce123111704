/** The first schema: users, clients, grants and tokens. Times are in milliseconds, flags are 0 or 1, lists and objects are JSON. */
import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

type ColumnType = 'text' | 'bigint' | 'integer'

/** A trailing `?` makes the column nullable. */
const TABLES: readonly {
  name: string
  key: readonly string[]
  columns: Readonly<Record<string, ColumnType | `${ColumnType}?`>>
}[] = [
  {
    name: 'users',
    key: ['id'],
    columns: {
      id: 'text',
      username: 'text',
      username_key: 'text',
      password_hash: 'text?',
      password_changed_at: 'bigint',
      declared_digest: 'text?',
      profile: 'text',
      disabled: 'integer',
      created_at: 'bigint',
      updated_at: 'bigint',
    },
  },
  {
    name: 'roles',
    key: ['name'],
    columns: { name: 'text', scopes: 'text', description: 'text', require_second_factor: 'integer' },
  },
  { name: 'user_roles', key: ['user_id', 'role'], columns: { user_id: 'text', role: 'text' } },
  {
    name: 'clients',
    key: ['client_id'],
    columns: {
      client_id: 'text',
      metadata: 'text',
      disabled: 'integer',
      created_at: 'bigint',
      updated_at: 'bigint',
    },
  },
  {
    name: 'client_secrets',
    key: ['id'],
    columns: {
      id: 'text',
      client_id: 'text',
      digest: 'text',
      declared: 'integer',
      created_at: 'bigint',
      expires_at: 'bigint?',
    },
  },
  {
    name: 'grants',
    key: ['id'],
    columns: {
      id: 'text',
      kind: 'text',
      client_id: 'text',
      user_id: 'text',
      session_id: 'text?',
      scopes: 'text',
      details: 'text',
      auth_time: 'bigint',
      created_at: 'bigint',
      expires_at: 'bigint',
      revoked_at: 'bigint?',
    },
  },
  {
    name: 'codes',
    key: ['digest'],
    columns: { digest: 'text', grant_id: 'text', details: 'text', expires_at: 'bigint', spent_at: 'bigint?' },
  },
  {
    name: 'refresh_tokens',
    key: ['digest'],
    columns: {
      digest: 'text',
      grant_id: 'text',
      parent_digest: 'text?',
      issued_at: 'bigint',
      expires_at: 'bigint',
      sealed: 'text?',
    },
  },
  {
    name: 'device_codes',
    key: ['digest'],
    columns: {
      digest: 'text',
      user_code: 'text',
      client_id: 'text',
      scopes: 'text',
      state: 'text',
      details: 'text',
      poll_interval: 'integer',
      polled_at: 'bigint?',
      created_at: 'bigint',
      expires_at: 'bigint',
    },
  },
  {
    name: 'sessions',
    key: ['id'],
    columns: {
      id: 'text',
      digest: 'text',
      user_id: 'text',
      auth_time: 'bigint',
      amr: 'text',
      browser_state: 'text',
      user_agent: 'text',
      address: 'text',
      created_at: 'bigint',
      seen_at: 'bigint',
      expires_at: 'bigint',
      ended_at: 'bigint?',
    },
  },
  {
    name: 'session_clients',
    key: ['session_id', 'client_id'],
    columns: { session_id: 'text', client_id: 'text', created_at: 'bigint' },
  },
  {
    name: 'interactions',
    key: ['digest'],
    columns: { digest: 'text', details: 'text', created_at: 'bigint', expires_at: 'bigint' },
  },
  {
    name: 'consents',
    key: ['user_id', 'client_id'],
    columns: { user_id: 'text', client_id: 'text', scopes: 'text', created_at: 'bigint', updated_at: 'bigint' },
  },
  {
    name: 'factors',
    key: ['id'],
    columns: {
      id: 'text',
      user_id: 'text',
      kind: 'text',
      label: 'text',
      secret: 'text',
      counter: 'bigint',
      created_at: 'bigint',
      used_at: 'bigint?',
    },
  },
  {
    name: 'throttles',
    key: ['key'],
    columns: { key: 'text', failures: 'integer', until: 'bigint', updated_at: 'bigint' },
  },
  {
    name: 'signing_keys',
    key: ['kid'],
    columns: {
      kid: 'text',
      public_jwk: 'text',
      sealed_private_key: 'text',
      created_at: 'bigint',
      active_from: 'bigint',
      retired_at: 'bigint?',
      removed_after: 'bigint?',
    },
  },
]

const INDEXES: readonly { table: string; columns: readonly string[]; unique?: boolean }[] = [
  { table: 'users', columns: ['username_key'], unique: true },
  { table: 'user_roles', columns: ['role'] },
  { table: 'client_secrets', columns: ['client_id'] },
  { table: 'grants', columns: ['user_id'] },
  { table: 'grants', columns: ['client_id'] },
  { table: 'grants', columns: ['session_id'] },
  { table: 'grants', columns: ['expires_at'] },
  { table: 'codes', columns: ['expires_at'] },
  { table: 'refresh_tokens', columns: ['grant_id'] },
  // A token has at most one successor: inserting it is the rotation.
  { table: 'refresh_tokens', columns: ['parent_digest'], unique: true },
  { table: 'refresh_tokens', columns: ['expires_at'] },
  { table: 'device_codes', columns: ['user_code'], unique: true },
  { table: 'device_codes', columns: ['expires_at'] },
  { table: 'sessions', columns: ['digest'], unique: true },
  { table: 'sessions', columns: ['user_id'] },
  { table: 'sessions', columns: ['expires_at'] },
  { table: 'interactions', columns: ['expires_at'] },
  { table: 'factors', columns: ['user_id'] },
]

export const identity = {
  name: 'identity',
  async up(db: Kysely<Schema>) {
    for (const table of TABLES) {
      let builder = db.schema
        .createTable(table.name)
        .addPrimaryKeyConstraint(`${table.name}_key`, [...table.key] as never)
      for (const [name, type] of Object.entries(table.columns)) {
        const nullable = type.endsWith('?')
        const plain = (nullable ? type.slice(0, -1) : type) as ColumnType
        builder = builder.addColumn(name, plain, (column) => (nullable ? column : column.notNull()))
      }
      await builder.execute()
    }
    for (const { table, columns, unique } of INDEXES) {
      const index = db.schema
        .createIndex(`${table}_by_${columns.join('_')}`)
        .on(table)
        .columns([...columns])
      await (unique === true ? index.unique() : index).execute()
    }
    // The database assigns the sequence numbers by which nodes catch up.
    const events = db.schema.createTable('events')
    await (isSqlite(db)
      ? events.addColumn('seq', 'integer', (column) => column.primaryKey().autoIncrement())
      : events.addColumn('seq', 'bigserial', (column) => column.primaryKey())
    )
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('body', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('events_by_expires_at').on('events').column('expires_at').execute()
  },
}

function isSqlite(db: Kysely<Schema>): boolean {
  return db.getExecutor().adapter.constructor.name === 'SqliteAdapter'
}
