/** `gatehouse migrate`: the schema changes that are due, tried or made. */
import { openDataFolder } from '../store/data-folder.ts'
import { openDatabase } from '../store/database.ts'
import { type MigrationPlan, planMigrations } from '../store/rehearse.ts'
import { Usage } from './command.ts'
import { readSettings } from './settings.ts'

export async function migrate(args: readonly string[]): Promise<void> {
  const { config, options, rest } = await readSettings(args, { '--dry-run': 'switch', '--json': 'switch' })
  if (rest.length > 0) throw new Usage(`migrate takes settings only, not "${rest[0]}"`)
  const dryRun = options.has('--dry-run')
  const place = { dataFolder: config.data, url: config.databaseUrl }
  const plan = await planMigrations({ ...place, rehearse: dryRun })
  if (!dryRun && plan.pending.length > 0) {
    const folder = openDataFolder(config.data)
    await (await openDatabase(place)).close()
    folder.close()
  }
  process.stdout.write(options.has('--json') ? `${JSON.stringify(plan, null, 2)}\n` : written(plan, dryRun))
}

function written({ found, known, pending }: MigrationPlan, dryRun: boolean): string {
  if (pending.length === 0) return `The database has schema ${known}: nothing is due.\n`
  const lines = pending.map(
    ({ version, name, milliseconds }) =>
      `  ${version} ${name}${milliseconds === undefined ? '' : ` (${milliseconds} ms, taken back)`}\n`,
  )
  const verb = dryRun ? 'would go' : 'went'
  return `The database ${verb} from schema ${found} to ${known}:\n${lines.join('')}`
}
