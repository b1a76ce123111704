/** No regular expression of the product backtracks more than in proportion to the text of a caller. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isRegularExpressionLiteral, type Node, type SourceFile } from 'typescript/unstable/ast'
import { API, type Project } from 'typescript/unstable/sync'
import { findBacktracking } from './support/regular-expressions.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Those that may, each with the reason. A new one is written so that it does not. */
const SAFE: ReadonlyMap<string, string> = new Map([
  ['packages/protocol/src/wire-time.ts: /0+Z$/', 'the text is that of a date'],
  ['packages/protocol/src/wire-time.ts: /0+$/', 'three digits'],
  ['packages/iql/src/types/time-values.ts: /0+$/', 'six digits'],
  [
    'packages/iql/src/types/time-values.ts: /([+-]?\\d+)(?:\\.(\\d+))?\\s*([A-Za-z]+)/g',
    'the text matches INTERVAL, in which runs of digits end at 18',
  ],
  ['packages/iql/src/bind/literal.ts: /0*$/', 'no more digits than a decimal has'],
  ['packages/server/src/streaming/codec/exact-json.ts: /0+$/', 'at most MAX_DOUBLE_LENGTH characters'],
  ['packages/server/src/query/errors.ts: /\\[([^\\]]*)\\]\\([^)]*\\)/g', 'the texts of our table of errors'],
  ['packages/server/src/identity/pages/stylesheet.ts: /\\/\\*.*?\\*\\//gs', 'our style sheets'],
  ['packages/server/src/site/documentation/library.ts: /\\[([^\\]]+)\\]\\(([^)#]+)\\)/g', 'our pages of documentation'],
  ['packages/server/src/config/settings-file.ts: /^(?:\\\\.|[^\\\\])*?(?=[ \\t]*$)/s', "the operator's file"],
  [
    'packages/server/src/config/load.ts: /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/',
    'names of environment variables',
  ],
  ['packages/server/src/mail/template.ts: /(\\{\\{.*?\\}\\})/s', "the operator's templates"],
  ['packages/server/src/streaming/controllers/load.ts: /\\s*\\n\\s*/g', "errors of the operator's modules"],
])
/** Commands read what their own user types. */
const SOURCES = /^packages\/(?:csv|iql|protocol|server)\/src\/(?!cli\/)/

let api: API
let project: Project
before(() => {
  api = new API({ cwd: root })
  const [opened] = api.updateSnapshot({ openProjects: [`${root}tsconfig.json`] }).getProjects()
  assert.ok(opened)
  project = opened
})
after(() => api.close())

test('the time of every regular expression grows as the text', () => {
  const all = literals()
  const attacked = new Map([...new Set(all.map(({ text }) => text))].map((text) => [text, attack(text)]))
  const slow = new Map(
    all.flatMap(({ place, text }) => {
      const found = attacked.get(text)
      return found === undefined ? [] : [[place, found] as const]
    }),
  )
  assert.deepEqual(
    [...slow].filter(([place]) => !SAFE.has(place)),
    [],
    'their time grows faster than the length of such a text',
  )
  assert.deepEqual(
    [...SAFE.keys()].filter((known) => !all.some(({ place }) => place === known)),
    [],
    'these are gone: remove them from the list',
  )
})

for (const [name, expression] of [
  ['quadratic: a run that may start anywhere', /a+$/],
  ['quadratic: a search that starts again', /<!--.*?-->/s],
  ['quadratic: two runs of the same', /^\s*[^:]*:/],
  ['exponential: a run of runs', /^(?:[a-z]+\.?)+$/],
  ['exponential: two equal choices', /^(?:\w|\d)*!$/],
  ['cubic behind a start', /^key=\s*(?:x|\s)*\s*$/],
] as const)
  test(`found: ${name}`, () => assert.notEqual(findBacktracking(expression), undefined))

function literals(): { readonly place: string; readonly text: string }[] {
  const found = project.program
    .getSourceFileNames()
    .filter((name) => SOURCES.test(name.slice(root.length)))
    .flatMap((name) => project.program.getSourceFile(name) ?? [])
    .flatMap((source) =>
      listLiterals(source).map((text) => ({ place: `${source.fileName.slice(root.length)}: ${text}`, text })),
    )
  assert.ok(found.length > 300, 'the regular expressions are found')
  return found
}

function listLiterals(source: SourceFile): string[] {
  const found: string[] = []
  const visit = (node: Node): void => {
    if (isRegularExpressionLiteral(node)) found.push(source.text.slice(node.getStart(source), node.end))
    node.forEachChild(visit)
  }
  visit(source)
  return found
}

function attack(literal: string): string | undefined {
  const end = literal.lastIndexOf('/')
  return findBacktracking(new RegExp(literal.slice(1, end), literal.slice(end + 1)))
}
