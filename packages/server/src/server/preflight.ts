/** Everything that can refuse a start, read and checked before anything is written. */
import { isLoopback } from 'gatehouse-protocol'
import type { Config } from '../config/config.ts'
import { chooseIssuer } from '../config/issuer.ts'
import type { Declared } from '../declarative/reconcile.ts'
import type { Templates } from '../mail/mail.ts'
import { checkStored } from '../store/check-stored.ts'
import { POOL_SIZE } from '../store/database/database.ts'
import type { DatabaseServers } from '../store/database/servers/servers.ts'
import type { Controller } from '../streaming/topics/controller.ts'
import { readMailTemplates } from './mail.ts'
import { readBrand } from './options.ts'

export interface StartFiles {
  readonly brand: ReturnType<typeof readBrand>
  readonly controllers: readonly Controller[]
  readonly declared: Declared | undefined
  /** Undefined where no mail is set up. */
  readonly mailTemplates: Templates | undefined
}

/**
 * The files that the settings name. Loads nothing where none is named. The declarative file is not read where it is not applied,
 * except for the demonstration, whose market needs to know its tables.
 */
export async function readStartFiles(config: Config, appliesFile: boolean): Promise<StartFiles> {
  const brand = readBrand(config)
  const controllers = await readControllers(config)
  const loaded = controllers.map(({ name }) => name)
  const mailTemplates = await readMailTemplates(config)
  const declared = config.demo || appliesFile ? await readDeclared(config, loaded) : undefined
  return { brand, controllers, declared, mailTemplates }
}

async function readControllers({ services, streamControllers }: Config): Promise<readonly Controller[]> {
  if (streamControllers === '' || !services.includes('streaming')) return []
  const { loadControllers } = await import('../streaming/streaming.ts')
  return loadControllers(streamControllers)
}

export async function readDeclared(
  config: Config,
  loadedControllers: readonly string[],
): Promise<Declared | undefined> {
  if (config.config === '' && !config.demo) return undefined
  const { findDeclared } = await import('../declarative/reconcile.ts')
  return findDeclared(config, loadedControllers)
}

/** The connections to PostgreSQL that a start uses, besides that of its lock: identity, events. */
const START_CONNECTIONS = POOL_SIZE + 1
/** The catalogue, and the rows of the declarative file. */
const QUERY_CONNECTIONS = 3
/** One to write, one to read and one that listens. */
const FEED_CONNECTIONS = 3

/** The data folder, the databases and the keys. */
export async function checkBeforeStart(
  config: Config,
  port: number,
  { declared, loadedControllers }: { declared: Declared | undefined; loadedControllers: readonly string[] },
  servers: DatabaseServers | undefined,
): Promise<void> {
  const { data: dataFolder, databaseUrl: url, masterKey } = config
  const hasQuery = config.services.includes('query')
  const hasFeeds = config.services.includes('streaming') && config.natsUrl === ''
  const freeConnections = START_CONNECTIONS + (hasQuery ? QUERY_CONNECTIONS : 0) + (hasFeeds ? FEED_CONNECTIONS : 0)
  const issuer = chooseIssuer(config, port)
  const refusedSecrets = isPublic(config, issuer) ? await demoSecrets() : undefined
  const names = await checkStored({ dataFolder, url, servers, masterKey, freeConnections, issuer, refusedSecrets })
  if (url !== '' && hasQuery) {
    const { checkPostgres } = await import('../query/index.ts')
    await checkPostgres({ url, dataFolder, servers })
  }
  if (declared === undefined) return
  const { checkDeclared } = await import('../declarative/reconcile.ts')
  const tables = await checksOfTables(config, servers)
  await checkDeclared(declared, process.env, names, tables, loadedControllers, config.scim)
}

/** Whether other machines may reach the server, itself or through a proxy. With `demo`, only a proxy could lead to it. */
function isPublic({ demo, host }: Config, issuer: string): boolean {
  return !demo && !(isLoopback(host) && isLoopback(new URL(issuer).hostname))
}

async function demoSecrets() {
  const { DEMO_SECRETS } = await import('../declarative/demo.ts')
  return DEMO_SECRETS
}

/** Undefined on a node without the query service. */
async function checksOfTables(
  { services, data: dataFolder, databaseUrl: url }: Config,
  servers: DatabaseServers | undefined,
) {
  if (!services.includes('query')) return undefined
  const { checkStoredTables } = await import('../query/index.ts')
  return checkStoredTables({ dataFolder, url, servers, clock: Date.now })
}
