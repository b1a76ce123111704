/** `gatehouse apply`: reconciles the declarative file now, or shows what that would change. */
import { findDeclared, reconcile, summarise } from '../declarative/reconcile.ts'
import { withData } from '../offline.ts'
import { Usage } from './command.ts'
import { readSettings } from './settings.ts'

const SIGNS = { create: '+', update: '~', remove: '-' } as const

export async function apply(args: readonly string[]): Promise<void> {
  const { config, options, rest } = await readSettings(args, { '--dry-run': 'switch', '--json': 'switch' })
  if (rest.length > 0) throw new Usage(`apply takes no "${rest[0]}"; the file is named by --config`)
  const declared = await findDeclared(config)
  if (declared === undefined) throw new Usage('apply needs a file: name it with --config or GATEHOUSE_CONFIG')
  const dryRun = options.has('--dry-run')
  const changes = await withData(config, async ({ reconcileEnv, audit, withTables }) => {
    const made =
      declared.declaration.tables !== undefined && config.services.includes('query')
        ? await withTables((tables) => reconcile(declared, { ...reconcileEnv, tables }, dryRun))
        : await reconcile(declared, reconcileEnv, dryRun)
    if (!dryRun && made.length > 0) audit.record({ event: 'declaration.applied', details: summarise(made) })
    return made
  })
  if (options.has('--json')) {
    const listed = changes.map((change) => ({
      action: change.action,
      what: change.what,
      name: change.name,
      differences: change.action === 'remove' ? [] : change.differences,
    }))
    process.stdout.write(`${JSON.stringify({ applied: !dryRun, changes: listed }, null, 2)}\n`)
    return
  }
  for (const change of changes) {
    process.stdout.write(`${SIGNS[change.action]} ${change.what} ${change.name}\n`)
    if (change.action === 'update') for (const line of change.differences) process.stdout.write(`    ${line}\n`)
  }
  const { created, changed, deleted } = summarise(changes)
  const verb = dryRun ? 'to be ' : ''
  process.stdout.write(
    changes.length === 0
      ? 'Nothing differs.\n'
      : `${created} ${verb}created, ${changed} ${verb}changed, ${deleted} ${verb}removed.\n`,
  )
}
