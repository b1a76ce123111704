/** Checks what is stored before anything is written to it: the data folder, privileges, the schema version, the master key. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { CompiledQuery, type Kysely } from 'kysely'
import { type Api, createApis } from './apis/apis.ts'
import { type AttributeDefinition, createAttributes } from './attributes/attributes.ts'
import { createNodes } from './cluster/nodes.ts'
import { checkDataFolder } from './database/data-folder.ts'
import {
  type Database,
  type DataLocation,
  explainDamage,
  openUnmigrated,
  POSTGRES_SCHEMA,
  SchemaTooNew,
} from './database/database.ts'
import { checkFreeConnections } from './database/free-connections.ts'
import { schemaVersion } from './database/migration-plan.ts'
import { MIGRATIONS } from './database/migrations.ts'
import { explainMark, readMoveMark, refuseMoved } from './database/move-mark.ts'
import { type Ask, checkPrivileges } from './database/privileges.ts'
import type { Schema } from './database/schema.ts'
import { noDatabaseIn, noTablesIn, UnfitDatabase } from './database/unfit-database.ts'
import { openPrivateKey } from './keys/key-rotation.ts'
import { findMasterKey, type MasterKey, requireMasterKey, WrongMasterKey } from './keys/master-key.ts'
import { findKnownSecrets, type KnownSecrets } from './known-secrets.ts'

export interface StoredOptions extends DataLocation {
  readonly masterKey: Buffer | undefined
  /** The connections to PostgreSQL that must be free. */
  readonly freeConnections?: number
  /** For commands, which neither create nor migrate a database. */
  readonly mustBeCurrent?: true
  /** The issuer of a node that is about to serve. */
  readonly issuer?: string
  /** Secrets that no user or client may have, because other machines can reach the server. */
  readonly refusedSecrets?: KnownSecrets | undefined
}

/** What a declarative file may refer to. */
export interface StoredNames {
  readonly roles: readonly string[]
  readonly attributes: readonly AttributeDefinition[]
  readonly apis: readonly Api[]
}

const NO_NAMES: StoredNames = { roles: [], attributes: [], apis: [] }

export async function checkStored(options: StoredOptions): Promise<StoredNames> {
  const { dataFolder, url, masterKey, freeConnections = 0, mustBeCurrent = false } = options
  if (mustBeCurrent) requireFile(options)
  else checkDataFolder(dataFolder)
  if (url === '') for (const name of ['query.db', 'feeds.db']) checkFile(join(dataFolder, name))
  if (url === '' && !existsSync(join(dataFolder, 'identity.db'))) return NO_NAMES
  return lookInto(options, async (database) => {
    await refuseMoved(database)
    if (database.engine === 'postgres') await checkServer(database, freeConnections)
    if (mustBeCurrent) await requireCurrent(database)
    if (options.issuer !== undefined) await refuseOtherIssuer(database, options.issuer)
    const names = await checkContent(database, findMasterKey(dataFolder, masterKey))
    if (options.refusedSecrets !== undefined) await refuseKnownSecrets(database, options.refusedSecrets)
    return names
  })
}

/** Throws UnfitDatabase if there is no SQLite file. Writes nothing. */
export function requireFile({ dataFolder, url }: DataLocation): void {
  if (url === '' && !existsSync(join(dataFolder, 'identity.db'))) throw noDatabaseIn(dataFolder)
}

/**
 * Throws if there is no database of any schema version, if a move to it is unfinished, or if its master key is missing or different.
 * One that was moved to another database is accepted.
 */
export async function requireDatabase(options: StoredOptions): Promise<MasterKey> {
  requireFile(options)
  return lookInto(options, async (database) => {
    if ((await schemaVersion(database)) === 0) throw noTablesIn(database.location)
    const mark = await readMoveMark(database)
    if (mark?.state === 'arriving') throw new UnfitDatabase(explainMark(mark, database.location))
    const found = requireMasterKey(options.dataFolder, options.masterKey)
    await checkMasterKey(database.db, found)
    return found
  })
}

/** Without migrating it. */
async function lookInto<T>(
  { dataFolder, url, servers }: StoredOptions,
  look: (database: Database) => Promise<T>,
): Promise<T> {
  const database = openUnmigrated({ dataFolder, url, servers, poolSize: 1 })
  try {
    return await look(database)
  } catch (error) {
    throw explainDamage(error, database.location)
  } finally {
    await database.close().catch(() => {})
  }
}

/** Considers only nodes that know the current schema: others have no issuer there, and stop serving when it is migrated. */
async function refuseOtherIssuer(database: Database, issuer: string): Promise<void> {
  if ((await schemaVersion(database)) !== MIGRATIONS.length) return
  const other = (await createNodes(database, Date.now).running()).find((node) => node.issuer !== issuer)
  if (other !== undefined)
    throw new UnfitDatabase(
      `Another node (${other.name}) serves the database ${database.location} with the issuer ${other.issuer}, and this one would have ${issuer}: set the same GATEHOUSE_ISSUER for both, or another GATEHOUSE_DATABASE_URL or GATEHOUSE_DATA.`,
    )
}

async function refuseKnownSecrets(database: Database, known: KnownSecrets): Promise<void> {
  const found = (await schemaVersion(database)) === 0 ? [] : await findKnownSecrets(database.db, known)
  if (found.length > 0)
    throw new UnfitDatabase(
      `The database ${database.location} was filled by the demonstration, and the passwords and secrets of ${found.join(', ')} are public, so other machines must not reach this server. Set another GATEHOUSE_DATA or GATEHOUSE_DATABASE_URL, to start with an empty one, or remove them ("gatehouse user remove NAME", "gatehouse client remove ID").`,
    )
}

async function requireCurrent(database: Database): Promise<void> {
  const version = await schemaVersion(database)
  if (version === 0) throw noTablesIn(database.location)
  if (version < MIGRATIONS.length)
    throw new UnfitDatabase(
      `The database ${database.location} has schema ${version}, but this version uses ${MIGRATIONS.length}: run "gatehouse migrate", or start the server, which migrates it. Servers of the earlier version then stop serving.`,
    )
}

/** Checks only that it is a database; `gatehouse doctor` checks its pages. */
function checkFile(file: string): void {
  if (!existsSync(file)) return
  const database = new SqliteDatabase(file, { timeout: 5_000 })
  try {
    database.pragma('schema_version')
  } catch (error) {
    throw explainDamage(error, file)
  } finally {
    database.close()
  }
}

async function checkServer({ db }: Database, freeConnections: number): Promise<void> {
  const ask: Ask = async (statement, value) => (await db.executeQuery(CompiledQuery.raw(statement, [value]))).rows
  await checkPrivileges(ask, POSTGRES_SCHEMA)
  // The connection of this check is closed afterwards.
  await checkFreeConnections(ask, freeConnections - 1)
}

async function checkContent(database: Database, masterKey: MasterKey | undefined): Promise<StoredNames> {
  const { db, location } = database
  const version = await schemaVersion(database)
  if (version > MIGRATIONS.length) throw new SchemaTooNew(version, MIGRATIONS.length, location)
  if (version === 0) return NO_NAMES
  await checkMasterKey(db, masterKey)
  const roles = await db.selectFrom('roles').select('name').execute()
  const hasAttributes = version > MIGRATIONS.findIndex(({ name }) => name === 'attributes')
  const attributes = hasAttributes ? await createAttributes(db, Date.now).list() : []
  const hasApis = version > MIGRATIONS.findIndex(({ name }) => name === 'apis')
  const apis = hasApis ? await createApis(db, Date.now).list() : []
  return { roles: roles.map(({ name }) => name), attributes, apis }
}

/**
 * With another master key, every declared password would look changed and be reset, and a new signing key would be one
 * that no other node can open.
 */
async function checkMasterKey(db: Kysely<Schema>, masterKey: MasterKey | undefined): Promise<void> {
  const sealed = await db
    .selectFrom('signing_keys')
    .select('sealed_private_key')
    .where('sealed_private_key', '!=', '')
    .execute()
  if (sealed.length === 0) return
  if (masterKey === undefined)
    throw new WrongMasterKey(
      'The master key that seals the signing keys is missing: set GATEHOUSE_MASTER_KEY to it, or restore master.key in the data folder.',
    )
  const sealingKey = masterKey.derive('signing keys')
  for (const { sealed_private_key } of sealed) openPrivateKey(sealed_private_key, sealingKey)
}
