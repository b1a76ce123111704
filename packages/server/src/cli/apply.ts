/** `gatehouse apply`: applies the declarative file, or shows what that would change. */
import { chooseIssuer } from '../config/issuer.ts'
import type { Change } from '../declarative/plan.ts'
import { findDeclared, reconcile, summarise } from '../declarative/reconcile.ts'
import { openMailIfSet } from '../server/mail.ts'
import { withData } from '../server/offline.ts'
import type { Arguments } from './args.ts'
import { UsageError } from './errors.ts'
import { printable } from './output/table.ts'
import { loadSettings } from './settings.ts'

const SIGNS = { create: '+', update: '~', remove: '-' } as const

export async function apply(args: Arguments): Promise<void> {
  const { config } = await loadSettings(args)
  const declared = await findDeclared(config)
  if (declared === undefined) throw new UsageError('apply needs a file: name it with --config or GATEHOUSE_CONFIG')
  const dryRun = args.has('--dry-run')
  const changes = await withData(config, async (data) => {
    const { audit, withTables } = data
    const mail = dryRun ? undefined : await openMailIfSet(config, chooseIssuer(config), data)
    const reconcileEnv = { ...data.reconcileEnv, mail: mail?.port }
    const applied =
      (declared.declaration.tables ?? declared.declaration.views) !== undefined && config.services.includes('query')
        ? await withTables((tables) => reconcile(declared, { ...reconcileEnv, tables }, dryRun))
        : await reconcile(declared, reconcileEnv, dryRun)
    if (!dryRun && applied.length > 0) audit.record({ event: 'declaration.applied', details: summarise(applied) })
    return applied
  })
  if (args.has('--json')) {
    const listed = changes.map((change) => ({
      action: change.action,
      what: change.what,
      name: change.name,
      differences: change.action === 'remove' ? [] : change.differences,
      ...(deletedRows(change) > 0 && { rows_deleted: deletedRows(change) }),
    }))
    process.stdout.write(`${JSON.stringify({ applied: !dryRun, changes: listed }, null, 2)}\n`)
    return
  }
  for (const change of changes) {
    process.stdout.write(`${SIGNS[change.action]} ${change.what} ${printable(change.name)}\n`)
    if (change.action === 'update')
      for (const line of change.differences) process.stdout.write(`    ${printable(line)}\n`)
    const rows = deletedRows(change)
    if (rows > 0) process.stdout.write(`    deletes ${rows >= MOST_COUNTED ? `${MOST_COUNTED} or more` : rows} rows\n`)
  }
  const { created, changed, deleted } = summarise(changes)
  const verb = dryRun ? 'to be ' : ''
  process.stdout.write(
    changes.length === 0
      ? 'Nothing to change.\n'
      : `${created} ${verb}created, ${changed} ${verb}changed, ${deleted} ${verb}removed.\n`,
  )
}

/** Rows are counted up to this. */
const MOST_COUNTED = 1_000_000

function deletedRows(change: Change): number {
  return change.what === 'table' || change.what === 'view' ? (change.rowsDeleted ?? 0) : 0
}
