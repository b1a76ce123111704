/** The settings file, in the syntax of systemd.exec(5) EnvironmentFile, and what happens to files that it does not allow. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseSettingsFile, readSettingsFile } from '../../packages/server/src/config/settings-file.ts'

const parse = (text: string) => Object.fromEntries(parseSettingsFile(text, 'gatehouse.env'))

const CASES: readonly (readonly [name: string, text: string, variables: Record<string, string>])[] = [
  ['empty lines and comments', '\n  # one\n; two\nA=1\n\n#B=2\\\nB=3\n', { A: '1', B: '3' }],
  ['the last of several counts', 'A=1\nA=2', { A: '2' }],
  ['an empty value', 'A=\nB=\n', { A: '', B: '' }],
  [
    'what a shell would interpret',
    'URL=postgres://u:p%40@h/d?sslmode=verify-full&sslrootcert=/ca.pem\nB=a$b`c`(d)|e;f #g<h>*',
    { URL: 'postgres://u:p%40@h/d?sslmode=verify-full&sslrootcert=/ca.pem', B: 'a$b`c`(d)|e;f #g<h>*' },
  ],
  ['spaces around', '  A = 1 2 \t\nB=\t3\r\nC=4\r\n', { A: '1 2', B: '3', C: '4' }],
  ['an equals sign in the value', 'KEY=YWJj==', { KEY: 'YWJj==' }],
  ['quotes inside an unquoted value', `A=it's "so"`, { A: `it's "so"` }],
  ['backslashes', 'A=a\\\\b\\"c\\ \nB=one\\\ntwo\n', { A: 'a\\b"c ', B: 'onetwo' }],
  ['single quotes', `A='a "b" \\n $c\nd'\nB=' x '`, { A: 'a "b" \\n $c\nd', B: ' x ' }],
  ['double quotes', 'A="a \\"b\\" \\$c \\n \\\\"\nB="one\\\ntwo"', { A: 'a "b" $c \\n \\', B: 'onetwo' }],
  ['parts with quotes', `A='one' "two"three`, { A: 'onetwothree' }],
  ['no line break at the end', 'A=1', { A: '1' }],
]

for (const [name, text, variables] of CASES)
  test(`systemd.exec(5): ${name}`, () => assert.deepEqual(parse(text), variables))

test('a line that systemd would ignore is refused with its number, and is not quoted', () => {
  for (const text of ['\n# x\nGATEHOUSE_MASTER_KEY hidden\n', '\n\nexport A=hidden', '\n\n=hidden', '\n\n1A=hidden'])
    assert.throws(() => parse(text), { message: 'Line 3 of gatehouse.env is not written as NAME=VALUE' }, text)
  for (const text of ['\nA="hidden', "\nA='hidden\nB=1", '\nA="a" "hidden'])
    assert.throws(() => parse(text), { message: 'The quote on line 2 of gatehouse.env is not closed' }, text)
})

test('what is not a file is refused, and a pipe is not waited for', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-settings-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const pipe = join(folder, 'pipe.env')
  execFileSync('mkfifo', [pipe])
  for (const path of [folder, pipe]) assert.throws(() => readSettingsFile(path), /cannot be read \(it is not a file\)/)
  assert.throws(() => readSettingsFile(join(folder, 'none.env')), /cannot be read \(ENOENT\)/)
})
