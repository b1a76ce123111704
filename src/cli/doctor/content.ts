/** What the database holds: keys that open and sign, an audit log that is whole, somebody who can administer, rows from no future. */
import type { Config } from '../../config.ts'
import { verifyAuditLog } from '../../store/audit-verify.ts'
import type { Database } from '../../store/database.ts'
import { signingKeyOf } from '../../store/key-rotation.ts'
import { createStores } from '../../store/stores.ts'
import { examineAuditCopy } from './audit-copy.ts'
import { type Finding, fault, ok, warning } from './finding.ts'

const DAY = 86_400_000
const CLOCK_TOLERANCE_MS = 5_000

export interface ContentOptions {
  readonly config: Config
  readonly now: number
  /** Throws when the master key is not the one that sealed it; undefined when there is no master key. */
  readonly open: ((sealed: string) => void) | undefined
}

export async function examineContent(database: Database, options: ContentOptions): Promise<Finding[]> {
  return [
    ...(await keyFindings(database, options)),
    ...(await auditFindings(database, options.now)),
    ...(await examineAuditCopy(options.config, database)),
    ...(await accessFindings(database)),
  ]
}

async function keyFindings(database: Database, { config, now, open }: ContentOptions): Promise<Finding[]> {
  const keys = await createStores(database, () => now).signingKeys.list()
  const signing = signingKeyOf(keys, now)
  if (signing === undefined)
    return [warning('keys.none', 'No signing key is at work', 'Start the server: it makes one. Then look again.')]
  const sealed = keys.filter(({ sealedPrivateKey }) => sealedPrivateKey !== '')
  if (open === undefined)
    return [
      fault(
        'keys.master_missing',
        'The master key is gone, and the signing keys are sealed with it',
        'Bring back master.key from a backup of the data folder, or set GATEHOUSE_MASTER_KEY as it was.',
      ),
    ]
  const closed = sealed.filter(({ sealedPrivateKey }) => !opens(open, sealedPrivateKey))
  if (closed.length > 0)
    return [
      fault(
        'keys.sealed',
        `${closed.length} signing keys cannot be opened: they were sealed with another master key`,
        'Set GATEHOUSE_MASTER_KEY as it was, or bring back master.key in the data folder.',
      ),
    ]
  const age = now - signing.activeFrom
  if (age > config.keyRotation + 2 * DAY)
    return [
      warning(
        'keys.old',
        `The signing key is at work for ${Math.floor(age / DAY)} days, rotation is due after ${config.keyRotation / DAY}`,
        'Keep a server running, which rotates by itself, or run "gatehouse keys rotate".',
      ),
    ]
  return [ok('keys', `The signing key ${signing.kid} is at work and opens`)]
}

function opens(open: (sealed: string) => void, sealed: string): boolean {
  try {
    open(sealed)
    return true
  } catch {
    return false
  }
}

async function auditFindings(database: Database, now: number): Promise<Finding[]> {
  const { faults, rows, head } = await verifyAuditLog(database)
  const [first] = faults
  if (first !== undefined)
    return [
      fault(
        'audit.broken',
        `The audit log is not what was written (${faults.length} places; ${first.message})`,
        'Keep a copy as evidence, compare it with a backup, and find out who can write to the database.',
      ),
    ]
  const last = await database.db.selectFrom('audit_log').select('at').where('seq', '=', head.seq).executeTakeFirst()
  if (last !== undefined && last.at > now + CLOCK_TOLERANCE_MS)
    return [
      fault(
        'clock.behind',
        `The last audit row is ${Math.round((last.at - now) / 1000)} s in the future`,
        'Set the clock of this machine: tokens expire by it.',
      ),
    ]
  return [ok('audit', `The audit log is whole (${rows} rows, head ${head.seq})`)]
}

/** Without anybody who may administer, the next change needs the command line on this machine. */
async function accessFindings(database: Database): Promise<Finding[]> {
  const { roles, clients } = createStores(database, Date.now)
  const findings: Finding[] = []
  const administering = (await roles.list()).filter(({ scopes }) => scopes.includes('Identity/Admin'))
  const holders = await Promise.all(administering.map(({ name }) => roles.holders(name)))
  if (holders.flat().length === 0)
    findings.push(
      warning(
        'access.no_admin',
        'Nobody holds Identity/Admin',
        'Give somebody a role with it: "gatehouse role add admin --scope Identity/Admin", "gatehouse user add NAME --role admin".',
      ),
    )
  for (const client of await clients.list()) {
    if (client.disabled) continue
    if (!client.public && client.secrets.length === 0)
      findings.push(
        fault(
          'access.no_secret',
          `The client ${client.id} must prove itself and has no secret`,
          `gatehouse client secret ${client.id}`,
        ),
      )
    if (client.public && client.grantTypes.has('password'))
      findings.push(
        warning(
          'access.open_password_grant',
          `The client ${client.id} takes passwords without a secret of its own`,
          'Give it a secret, or move it to the authorization code flow.',
        ),
      )
  }
  return findings
}
