/** The table of releases: what was released when, with which schema, and where it is in the history. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compareVersions, parseVersion } from './version.ts'

export interface Release {
  readonly version: string
  /** As 2026-11-17. */
  readonly date: string
  /** The schema version of the identity database. A release with another one migrates the database when it starts. */
  readonly schema: number
  /** Where there is no tag `vVERSION`. */
  readonly commit?: string
}

const FILE = 'scripts/release/releases.json'

/** From the oldest to the newest. */
export async function readReleases(root: string): Promise<readonly Release[]> {
  const entries: unknown = JSON.parse(await readFile(join(root, FILE), 'utf8'))
  if (!Array.isArray(entries)) throw new Error(`${FILE} is not a list`)
  return entries.map(readRelease).toSorted((one, other) => compareVersions(one.version, other.version))
}

export async function addRelease(root: string, release: Release): Promise<void> {
  const entries = [...(await readReleases(root)), release]
  await writeFile(join(root, FILE), `[\n${entries.map((entry) => `  ${formatRelease(entry)}`).join(',\n')}\n]\n`)
}

/** What Git finds it by. */
export function gitRevision({ version, commit }: Release): string {
  return commit ?? `v${version}`
}

function readRelease(entry: unknown): Release {
  const { version, date, schema, commit } = Object(entry)
  if (typeof version !== 'string' || typeof date !== 'string' || typeof schema !== 'number')
    throw new Error(`${FILE}: a release has a version, a date and a schema: ${JSON.stringify(entry)}`)
  parseVersion(version)
  return typeof commit === 'string' ? { version, date, schema, commit } : { version, date, schema }
}

/** On one line, as the formatter of this repository writes it. */
function formatRelease(release: Release): string {
  const members = Object.entries(release).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  return `{ ${members.join(', ')} }`
}
