/** Kysely in one file, if `npm run setup` has written it, or from its CommonJS build, which loads in half the time of its many
 *  ES modules; every start pays for it. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Kysely as KyselyOf } from 'kysely'

const bundle = fileURLToPath(new URL('../kysely.bundle.cjs', import.meta.url))
const kysely: typeof import('kysely') = createRequire(import.meta.url)(existsSync(bundle) ? bundle : 'kysely')

export const { CompiledQuery, Kysely, sql, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } = kysely
export const { PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } = kysely
export type Kysely<Tables> = KyselyOf<Tables>
