/** Checks the content of the database: signing keys, audit log, retention, administrators and clients. */
import type { Config } from '../../config/config.ts'
import { verifyAuditLog } from '../../store/audit/verify.ts'
import type { Database } from '../../store/database/database.ts'
import { chooseSigningKeys } from '../../store/keys/key-rotation.ts'
import { findKnownSecrets } from '../../store/known-secrets.ts'
import { createStores } from '../../store/stores.ts'
import { checkAuditCopy } from './audit-copy.ts'
import { collect, type Finding, fault, ok, warning } from './finding.ts'
import { checkRetention } from './retention.ts'

const DAY = 86_400_000
const CLOCK_TOLERANCE_MS = 5_000

export interface ContentOptions {
  readonly config: Config
  readonly now: number
  /** Throws if another master key sealed the text; undefined if there is no master key. */
  readonly unseal: ((sealed: string) => void) | undefined
}

export async function checkContent(database: Database, options: ContentOptions): Promise<readonly Finding[]> {
  return collect([
    await checkKeys(database, options),
    await checkAudit(database, options.now),
    await checkAuditCopy(options.config, database),
    await checkRetention(options.config, database, options.now),
    ...(await Array.fromAsync(checkAccess(database))),
    await checkKnownSecrets(database),
  ])
}

async function checkKeys(database: Database, { config, now, unseal }: ContentOptions): Promise<Finding> {
  const keys = await createStores(database, () => now).signingKeys.list()
  const rings = chooseSigningKeys(keys, now)
  const signing = rings.get('RS256')
  if (signing === undefined)
    return warning(
      'keys.none',
      'There is no active signing key',
      'Start the server, which creates one, then run "gatehouse doctor" again.',
    )
  const sealed = keys.filter(({ sealedPrivateKey }) => sealedPrivateKey !== '')
  if (unseal === undefined)
    return fault(
      'keys.master_missing',
      'The master key that seals the signing keys is missing',
      'Restore master.key from a backup of the data folder, or set GATEHOUSE_MASTER_KEY to its previous value.',
    )
  const unreadable = sealed.filter(({ sealedPrivateKey }) => !opens(unseal, sealedPrivateKey))
  if (unreadable.length > 0)
    return fault(
      'keys.sealed',
      `${unreadable.length} signing keys were sealed with another master key`,
      'Set GATEHOUSE_MASTER_KEY to its previous value, or restore master.key in the data folder.',
    )
  const age = now - signing.activeFrom
  if (age > config.keyRotation + 2 * DAY)
    return warning(
      'keys.old',
      `The signing key has been active for ${Math.floor(age / DAY)} days; it should have been rotated after ${config.keyRotation / DAY}`,
      'Keep a server running, because it rotates keys automatically, or run "gatehouse keys rotate".',
    )
  return ok('keys', `The signing key ${signing.kid} is active and can be read`)
}

function opens(unseal: (sealed: string) => void, sealed: string): boolean {
  try {
    unseal(sealed)
    return true
  } catch {
    return false
  }
}

async function checkAudit(database: Database, now: number): Promise<Finding> {
  const { faults, rows, head } = await verifyAuditLog(database)
  const [first] = faults
  if (first !== undefined)
    return fault(
      'audit.broken',
      `The audit log was altered in ${faults.length} places: ${first.message}`,
      'Keep a copy as evidence, compare it with a backup, and find out who can write to the database.',
    )
  const last = await database.db.selectFrom('audit_log').select('at').where('seq', '=', head.seq).executeTakeFirst()
  if (last !== undefined && last.at > now + CLOCK_TOLERANCE_MS)
    return fault(
      'clock.behind',
      `The last audit row is ${Math.round((last.at - now) / 1000)} s in the future`,
      'Correct the clock of this machine: token expiry depends on it.',
    )
  return ok('audit', `The audit log is intact (${rows} rows, head ${head.seq})`)
}

/** Without an administrator, changes are only possible with the command line on this machine. */
async function* checkAccess(database: Database): AsyncGenerator<Finding> {
  const { roles, clients } = createStores(database, Date.now)
  const administering = (await roles.list()).filter(({ scopes }) => scopes.includes('Identity/Admin'))
  const holders = await Promise.all(administering.map(({ name }) => roles.holders(name)))
  if (holders.flat().length === 0)
    yield warning(
      'access.no_admin',
      'No user has the scope Identity/Admin',
      'Run "gatehouse user first-admin" for a link that creates one, or give a user a role with it: "gatehouse role add admin --scope Identity/Admin", "gatehouse user add NAME --role admin".',
    )
  const enabled = (await clients.list()).filter(({ disabled }) => !disabled)
  const bare = enabled.filter(
    ({ public: isPublic, authMethods, secrets }) =>
      !isPublic && !authMethods.has('private_key_jwt') && secrets.length === 0,
  )
  if (bare.length > 0)
    yield fault(
      'access.no_secret',
      `${named(bare)} confidential but ${bare.length === 1 ? 'has' : 'have'} no secret`,
      `Run "gatehouse client secret ${bare.length === 1 ? bare[0]?.id : 'ID" for each, or disable unused clients: "gatehouse client disable ID'}".`,
    )
  const open = enabled.filter((client) => client.public && client.grantTypes.has('password'))
  if (open.length > 0)
    yield warning(
      'access.open_password_grant',
      `${named(open)} public and may use the password grant`,
      'Give each a secret, or move it to the authorization code flow.',
    )
}

async function checkKnownSecrets({ db }: Database): Promise<Finding | undefined> {
  const { DEMO_SECRETS } = await import('../../declarative/demo.ts')
  const known = await findKnownSecrets(db, DEMO_SECRETS)
  if (known.length === 0) return undefined
  return warning(
    'access.known_secrets',
    `The demonstration created ${known.join(', ')}, with a password or secret that is public`,
    'Before other machines can reach the server, remove them ("gatehouse user remove NAME", "gatehouse client remove ID") or start with an empty data folder.',
  )
}

const MOST_NAMED = 5

/** One line, however many there are. */
function named(clients: readonly { readonly id: string }[]): string {
  const [first] = clients
  if (clients.length === 1 && first !== undefined) return `The client ${first.id} is`
  const shown = clients.slice(0, MOST_NAMED).map(({ id }) => id)
  const more = clients.length - shown.length
  return `${clients.length} clients (${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}) are`
}
