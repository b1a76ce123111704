/** Kysely from its CommonJS build, which loads in half the time of its many ES modules; every start pays for it. */
import { createRequire } from 'node:module'
import type { Kysely as KyselyOf } from 'kysely'

const kysely: typeof import('kysely') = createRequire(import.meta.url)('kysely')

export const { CompiledQuery, Kysely, sql, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } = kysely
export const { PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } = kysely
export type Kysely<Tables> = KyselyOf<Tables>
