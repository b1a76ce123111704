/** `gatehouse migrate`: runs the pending schema migrations, or rehearses them. */
import { openDataFolder } from '../store/database/data-folder.ts'
import { openDatabase } from '../store/database/database.ts'
import { type MigrationPlan, planMigrations } from '../store/database/migration-plan.ts'
import { openMasterKey } from '../store/keys/master-key.ts'
import type { Arguments } from './args.ts'
import { loadSettings } from './settings.ts'

export async function migrate(args: Arguments): Promise<void> {
  const { config } = await loadSettings(args)
  const dryRun = args.has('--dry-run')
  const place = { dataFolder: config.data, url: config.databaseUrl }
  const plan = await planMigrations({ ...place, dryRun, mayCreate: args.has('--create') })
  if (!dryRun && plan.pending.length > 0) {
    openMasterKey(openDataFolder(config.data), config.masterKey)
    await (await openDatabase(place)).close()
  }
  process.stdout.write(args.has('--json') ? `${JSON.stringify(plan, null, 2)}\n` : describe(plan, dryRun))
}

function describe({ found, known, location, pending }: MigrationPlan, dryRun: boolean): string {
  if (pending.length === 0) return `The database ${location} has schema ${known}; no migration is pending.\n`
  if (found === 0) return `The database ${location} ${dryRun ? 'would be' : 'was'} created with schema ${known}.\n`
  const lines = pending.map(
    ({ version, name, milliseconds }) =>
      `  ${version} ${name}${milliseconds === undefined ? '' : ` (${milliseconds} ms, rolled back)`}\n`,
  )
  const verb = dryRun ? 'would be migrated' : 'was migrated'
  return `The database ${location} ${verb} from schema ${found} to ${known}:\n${lines.join('')}`
}
