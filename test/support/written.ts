/** What servers write during a whole run of the tests, kept so that it can be searched for secrets afterwards. */
import { appendFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Names the folder that the test command has made for it. */
export const WRITTEN_FOLDER = 'TEST_WRITTEN_FOLDER'

const BUFFERED = 200_000
let buffered = ''
let folderOfRun: string | undefined

/** Written in large pieces: a server of a test logs a line for each request. */
export function keepWritten(text: string): void {
  if (folderOfRun === undefined) {
    folderOfRun = process.env[WRITTEN_FOLDER]
    if (folderOfRun === undefined) return
    process.once('exit', write)
  }
  buffered += text
  if (buffered.length > BUFFERED) write()
}

function write(): void {
  if (folderOfRun !== undefined && buffered !== '') appendFileSync(join(folderOfRun, `${process.pid}.txt`), buffered)
  buffered = ''
}

export function makeWrittenFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'gatehouse-written-'))
}

/** What no log may hold, whatever test wrote it: tokens, password hashes, private keys, and the passwords that tests use. */
const FORBIDDEN: readonly (readonly [string, RegExp])[] = [
  ['a signed token', /eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/],
  ['a password hash', /\$argon2(id|i|d)\$/],
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
  ['a password of the tests', /wonderland-1|admin-please-change|a long enough password|another long password/],
  ['a client secret of the tests', /demo-service-secret|a-secret-that-is-long-enough/],
  ['the password of a database', /postgres:\/\/[^:/@\s]+:[^@\s]+@/],
  ['a set-up link', /token=[\w-]{43}/],
  ['an authorization header', /\b(Bearer|Basic) [\w.~+/=-]{16,}/],
]

/** Says what was found and where, a line each; empties the folder. */
export async function searchWritten(folder: string): Promise<{ files: number; found: string[] }> {
  const files = await readdir(folder)
  const found: string[] = []
  for (const file of files) {
    const text = await readFile(join(folder, file), 'utf8')
    for (const [what, pattern] of FORBIDDEN) {
      const match = pattern.exec(text)
      if (match === null) continue
      const line = text.slice(text.lastIndexOf('\n', match.index) + 1).split('\n', 1)[0] ?? ''
      found.push(`${what}: ${line.slice(0, 300)}`)
    }
  }
  await rm(folder, { recursive: true, force: true })
  return { files: files.length, found }
}
