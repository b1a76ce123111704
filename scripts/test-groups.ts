/** Groups of test files that share a process: loading and compiling the server takes longer than many a file's tests. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Folders whose files mostly call a server or functions of this process; the others start browsers and other programs. */
const SHARED = ['admin', 'csv', 'declarative', 'http', 'identity', 'lib', 'query', 'store', 'streaming']

/** These measure their process, change its environment, or expect an answer in the same turn of the event loop. */
const SEPARATE = [
  'query/arrow-encoder',
  'query/iql/hostile',
  'query/long-rows',
  'query/overload',
  'query/readers',
  'streaming/codec',
  'streaming/connection',
  'streaming/frame-reader',
  'streaming/rfc6455',
  'streaming/topic-run-subscriptions',
]

const FILES_IN_GROUP = 8

export interface TestGroups {
  /** A file for each group, which imports the files of the group. */
  readonly files: readonly string[]
  /** The files that have no group. */
  readonly separate: readonly string[]
  /** Those of a group's file. */
  membersOf(file: string): readonly string[] | undefined
  remove(): Promise<void>
}

/** Names are relative to the root; `isLong` says which of them take long enough to deserve a process. */
export async function groupFiles(
  root: string,
  names: readonly string[],
  { isLong, timeoutMs }: { isLong(name: string): boolean; timeoutMs: number },
): Promise<TestGroups> {
  const isShared = (name: string): boolean =>
    SHARED.some((folder) => name.startsWith(`test/${folder}/`)) &&
    !SEPARATE.some((each) => name === `test/${each}.test.ts`) &&
    !isLong(name)
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-groups-'))
  const members = new Map<string, readonly string[]>()
  for (const [name, group] of divide(names.filter(isShared))) {
    const file = join(folder, `${name}.test.mts`)
    members.set(file, group)
    await writeFile(file, sourceOf(root, group, timeoutMs))
  }
  return {
    files: [...members.keys()],
    separate: names.filter((name) => !isShared(name)),
    membersOf: (file) => members.get(file),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Neighbours share a group: they load the same parts of the server. */
function divide(names: readonly string[]): Map<string, readonly string[]> {
  const byFolder = Map.groupBy(names.toSorted(), (name) => name.split('/')[1] ?? '')
  const groups = new Map<string, readonly string[]>()
  for (const [folder, files] of byFolder) {
    const count = Math.ceil(files.length / FILES_IN_GROUP)
    const size = Math.ceil(files.length / count)
    for (let at = 0; at < count; at += 1) groups.set(`${folder}-${at + 1}`, files.slice(at * size, (at + 1) * size))
  }
  return groups
}

/** A suite for each file, so that its hooks run before and after its own tests. */
function sourceOf(root: string, names: readonly string[], timeout: number): string {
  const suites = names.map((name) => {
    const url = pathToFileURL(join(root, name)).href
    return `describe(${JSON.stringify(name)}, { timeout: ${timeout} }, () => import(${JSON.stringify(url)}))\n`
  })
  return `import { describe } from 'node:test'\n${suites.join('')}`
}
