/** Makes a release of the working tree: versions, changelog, table of releases, packages, commit and tag. Publishes nothing. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { releaseChangelog } from './changelog.ts'
import { addRelease, type Release, readReleases } from './releases.ts'
import { compareVersions, parseVersion } from './version.ts'
import { setVersion } from './version-places.ts'

const run = promisify(execFile)

export interface ReleaseOptions {
  readonly root: string
  readonly version: string
  readonly date: string
  /** The schema version of the identity database. */
  readonly schema: number
  /** Packs the tree as it is. */
  pack(): Promise<void>
}

/** Everything or nothing: a failure before the commit leaves the tree as it was. */
export async function release({ root, pack, ...made }: ReleaseOptions): Promise<void> {
  await checkTree(root, made.version)
  checkVersion(made, await readReleases(root))
  try {
    if (parseVersion(made.version).candidate === undefined) await dateChangelog(root, made)
    await setVersion(root, made.version)
    await addRelease(root, made)
    await pack()
  } catch (error) {
    await git(root, 'checkout', '--quiet', '--', '.')
    throw error
  }
  await git(root, 'commit', '--quiet', '--all', '--message', `release: ${made.version}`)
  await git(root, 'tag', '--annotate', '--message', `Gatehouse ${made.version}`, `v${made.version}`)
}

async function checkTree(root: string, version: string): Promise<void> {
  const changed = await git(root, 'status', '--porcelain')
  if (changed !== '') throw new Error(`The working tree has changes; commit them first:\n${changed}`)
  if ((await git(root, 'tag', '--list', `v${version}`)) !== '') throw new Error(`There is a tag v${version} already`)
}

function checkVersion({ version, schema }: Release, releases: readonly Release[]): void {
  const { patch } = parseVersion(version)
  const last = releases.at(-1)
  if (last === undefined) return
  if (compareVersions(version, last.version) <= 0)
    throw new Error(`${version} is not newer than the last release, ${last.version}`)
  // Nodes of both versions share the database during a rolling upgrade, which a patch never interrupts: docs/releases.md.
  if (patch > 0 && schema !== last.schema)
    throw new Error(
      `${version} is a patch, but migrates the database: the last release has schema ${last.schema}, this one ${schema}`,
    )
}

/** The changes of a candidate stay unreleased. */
async function dateChangelog(root: string, { version, date }: Release): Promise<void> {
  const file = join(root, 'CHANGELOG.md')
  await writeFile(file, releaseChangelog(await readFile(file, 'utf8'), version, date))
}

async function git(root: string, ...words: string[]): Promise<string> {
  return (await run('git', words, { cwd: root })).stdout.trimEnd()
}
