/** Data folders of servers on SQLite that have been started once, copied for the servers of tests: a copy takes a fifth of the time of a first start. */
import { cp, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestPlace } from './engines.ts'

/** The environment variable with the folder that has a data folder for each kind of server. */
export const SQLITE_TEMPLATES = 'TEST_SQLITE_TEMPLATES'

const KINDS = ['demo', 'plain'] as const

type Flags = Readonly<Record<string, string>>
/** Starts a server in a data folder, and stops it. */
type Start = (dataFolder: string, flags: Flags) => Promise<void>

export function createTemplateFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'gatehouse-templates-'))
}

export async function makeTemplates(folder: string, start: Start): Promise<void> {
  for (const kind of KINDS) await start(join(folder, kind), kind === 'demo' ? { '--demo': 'true' } : {})
  await writeFile(join(folder, MADE), '')
}

export function removeTemplates(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true })
}

/** They decide which keys a first start makes. */
const FLAGS_OF_KEYS = ['--master-key', '--signing-algs']

/** Written when the templates are complete. */
const MADE = 'made'

/** Into an empty data folder, where the run has templates and the server's clock is not behind their keys. */
export async function copyTemplate({ engine, dataFolder }: TestPlace, flags: Flags, now: number): Promise<void> {
  const templates = process.env[SQLITE_TEMPLATES]
  if (templates === undefined || engine !== 'sqlite' || FLAGS_OF_KEYS.some((flag) => flag in flags)) return
  if ((await readdir(dataFolder).catch(() => [])).length > 0) return
  if (now < (await stat(join(templates, MADE))).mtimeMs) return
  const kind = flags['--demo'] === 'true' ? 'demo' : 'plain'
  await cp(join(templates, kind), dataFolder, { recursive: true })
}
