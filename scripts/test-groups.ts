/** Groups of test files that share a process: loading the server takes longer than many a file's tests, and compiled code stays. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Folders that load the same parts of the server, and how many of their files share a process at most: fewer where a file takes long. */
const SHARED: readonly { readonly folders: readonly string[]; readonly atMost: number }[] = [
  { folders: ['accounts', 'admin', 'apis', 'attributes', 'resources', 'scim', 'step-up'], atMost: 18 },
  { folders: ['browser', 'console'], atMost: 8 },
  { folders: ['cli'], atMost: 16 },
  { folders: ['client', 'clients'], atMost: 12 },
  { folders: ['config', 'csv', 'declarative', 'events', 'lib'], atMost: 36 },
  { folders: ['conformance'], atMost: 12 },
  { folders: ['docs', 'site'], atMost: 14 },
  { folders: ['feeds'], atMost: 12 },
  { folders: ['http'], atMost: 18 },
  { folders: ['identity'], atMost: 21 },
  { folders: ['alerts', 'licences', 'mcp', 'move'], atMost: 16 },
  { folders: ['mail', 'providers'], atMost: 12 },
  { folders: ['operate'], atMost: 14 },
  { folders: ['query'], atMost: 22 },
  { folders: ['replication'], atMost: 12 },
  { folders: ['store'], atMost: 18 },
  { folders: ['streaming'], atMost: 18 },
  { folders: ['wire'], atMost: 12 },
]

/** These measure their process, change its environment, or expect an answer in the same turn of the event loop. */
const SEPARATE = [
  'cli/credentials-lock',
  'cli/login',
  'cli/stream-reconnect',
  'client/events',
  'client/stream',
  'operate/certificate-expiry',
  'operate/faults',
  'query/arrow-encoder',
  'query/iql/hostile',
  'query/durable',
  'query/long-rows',
  'query/overload',
  'query/readers',
  'store/durable',
  'streaming/codec',
  'streaming/connection',
  'streaming/frame-reader',
  'streaming/rfc6455',
  'streaming/topic-run-subscriptions',
]

export interface TestGroups {
  /** A file for each group, which imports the files of the group. */
  readonly files: readonly string[]
  /** The files that have no group. */
  readonly separate: readonly string[]
  /** Those of a group's file. */
  listMembers(file: string): readonly string[] | undefined
  remove(): Promise<void>
}

/** Names are relative to the root; `isLong` says which of them take long enough to deserve a process. */
export async function groupFiles(
  root: string,
  names: readonly string[],
  { isLong, timeoutMs }: { isLong(name: string): boolean; timeoutMs: number },
): Promise<TestGroups> {
  const isShared = (name: string): boolean =>
    findFamily(name) !== undefined && !SEPARATE.some((each) => name === `test/${each}.test.ts`) && !isLong(name)
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-groups-'))
  const members = new Map<string, readonly string[]>()
  for (const [name, group] of divide(names.filter(isShared))) {
    // Not TypeScript: a file at a new place is not in the compile cache, so that each process would load the compiler for it.
    const file = join(folder, `${name}.test.mjs`)
    members.set(file, group)
    await writeFile(file, buildSource(root, group, timeoutMs))
  }
  return {
    files: [...members.keys()],
    separate: names.filter((name) => !isShared(name)),
    listMembers: (file) => members.get(file),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Neighbours share a group. */
function divide(names: readonly string[]): Map<string, readonly string[]> {
  const groups = new Map<string, readonly string[]>()
  for (const [family, files] of Map.groupBy(names.toSorted(), findFamily)) {
    if (family === undefined) continue
    const count = Math.ceil(files.length / family.atMost)
    const size = Math.ceil(files.length / count)
    for (let at = 0; at < count; at += 1)
      groups.set(`${family.folders.join('-')}-${at + 1}`, files.slice(at * size, (at + 1) * size))
  }
  return groups
}

function findFamily(name: string) {
  return SHARED.find(({ folders }) => folders.includes(name.split('/')[1] ?? ''))
}

/** A suite for each file, so that its hooks run before and after its own tests. */
function buildSource(root: string, names: readonly string[], timeout: number): string {
  const [times, ...files] = ['test/support/processor-time.ts', ...names].map((name) =>
    JSON.stringify(pathToFileURL(join(root, name)).href),
  )
  const suites = names.map((file, index) => {
    const name = JSON.stringify(file)
    return `describe(${name}, { timeout: ${timeout} }, () => {
  before(() => beginFile(${name}))
  return import(${files[index]})
})\n`
  })
  return `import { before, describe } from 'node:test'\nimport { beginFile } from ${times}\n${suites.join('')}`
}
