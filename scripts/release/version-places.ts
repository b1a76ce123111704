/** Every place in the repository that contains the version of the product. */
import { glob, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { VERSION_PATTERN } from './version.ts'

interface Place {
  readonly files: readonly string[]
  /** What precedes the version, and what follows it. */
  readonly around: readonly (readonly [before: string, after: string])[]
}

const PLACES: readonly Place[] = [
  {
    files: ['package.json', 'packages/*/package.json'],
    around: [
      ['^  "version": "', '"'],
      ['^    "gatehouse-[a-z]+": "', '"'],
    ],
  },
  {
    files: ['package-lock.json'],
    around: [
      ['"name": "gatehouse(?:-[a-z]+)?",\\n +"version": "', '"'],
      ['^ +"gatehouse-[a-z]+": "', '"'],
    ],
  },
  { files: ['packages/protocol/src/version.ts'], around: [["VERSION = '", "'"]] },
  { files: ['clients/python/src/gatehouse_client/version.py'], around: [['VERSION = "', '"']] },
  { files: ['charts/gatehouse/Chart.yaml'], around: [['^(?:version|appVersion): ', '$']] },
  { files: ['charts/gatehouse/ci/sqlite-values.yaml'], around: [['^ +tag: ', '$']] },
  {
    files: ['examples/kubernetes/gatehouse.yaml'],
    around: [
      ['app\\.kubernetes\\.io/version: "', '"'],
      ['/gatehouse:', '$'],
    ],
  },
  {
    files: ['README.md', 'docs/*.md', 'packages/*/README.md', 'clients/*/README.md'],
    around: [
      ['\\bgatehouse_client-', '-py3'],
      ['\\bgatehouse(?:-server|-client)?-', '\\.(?:tgz|js|cdx\\.json)\\b'],
      ['"Class":"Gatehouse","Version":"', '"'],
    ],
  },
  { files: ['docs/{install,upgrade,releases}.md'], around: [['(?:\\bv|/opt/gatehouse/|^version=)', '\\b']] },
]

export interface Occurrence {
  readonly file: string
  readonly version: string
}

export async function versionsIn(root: string): Promise<readonly Occurrence[]> {
  const found: Occurrence[] = []
  for await (const { file, text, pattern } of listFiles(root))
    for (const [, , version = ''] of text.matchAll(pattern)) found.push({ file, version })
  return found
}

/** Returns the files that were changed. */
export async function setVersion(root: string, version: string): Promise<readonly string[]> {
  const changed = new Set<string>()
  for await (const { file, text, pattern } of listFiles(root)) {
    const result = text.replaceAll(pattern, `$1${version}`)
    if (result === text) continue
    await writeFile(join(root, file), result)
    changed.add(file)
  }
  return [...changed]
}

/** Each file once for each of its patterns, read when its turn comes. */
async function* listFiles(root: string) {
  for (const { files, around } of PLACES)
    for (const file of (await Array.fromAsync(glob([...files], { cwd: root }))).sort())
      for (const [before, after] of around) {
        const pattern = new RegExp(`(${before})(${VERSION_PATTERN})(?=${after})`, 'gm')
        yield { file, text: await readFile(join(root, file), 'utf8'), pattern }
      }
}
