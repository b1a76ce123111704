/** No object is indexed by a string from outside: `constructor`, `toString` and `__proto__` are members of every object. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  type BinaryExpression,
  type ElementAccessExpression,
  isBinaryExpression,
  isElementAccessExpression,
  isFunctionLikeDeclaration,
  isStringLiteral,
  type Node,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast'
import { API, type Project, type Type, TypeFlags } from 'typescript/unstable/sync'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Look-ups by a string that are safe, each with the reason. A new one belongs into a `Map` instead. */
const SAFE: ReadonlyMap<string, string> = new Map([
  ['packages/server/src/telemetry/metrics.ts: labels[label]', 'the label is from the table of metrics'],
  ['packages/server/src/http/context.ts: headers[name]', 'the name is a key of the same object'],
  ['packages/server/src/identity/tokens/claims.ts: claims[name]', 'the name is from the table of claims'],
  ['packages/server/src/identity/tokens/claims.ts: user.profile[name]', 'the name is from the table of claims'],
  [
    'packages/server/src/streaming/codec/message-pack.ts: members[key]',
    'written only, and `__proto__` is handled before',
  ],
  ['packages/server/src/cli/settings.ts: flags[flagName(name)]', 'the name is that of a setting'],
  ['packages/server/src/cli/settings.ts: process.env[environmentName(name)]', 'the name is that of a setting'],
  ['packages/server/src/telemetry/figure-history.ts: before.counters[name]', 'the name is from the table of figures'],
  ['packages/server/src/telemetry/figure-history.ts: now.counters[name]', 'the name is from the table of figures'],
  ['packages/server/src/telemetry/figure-history.ts: before.histograms[name]', 'the name is from the table of figures'],
  ['packages/server/src/telemetry/figure-history.ts: now.histograms[name]', 'the name is from the table of figures'],
  [
    'packages/server/src/wire/catalogue/database/database.ts: filling?.derived?.[name]',
    'the name is from the table of columns',
  ],
  ['packages/server/src/cli/admin/run.ts: asObject(item)[column]', 'the columns are those of a command'],
])

let api: API
let project: Project
before(() => {
  api = new API({ cwd: root })
  const [opened] = api.updateSnapshot({ openProjects: [`${root}tsconfig.json`] }).getProjects()
  assert.ok(opened)
  project = opened
})
after(() => api.close())

test('an object is indexed by any string only after Object.hasOwn', () => {
  const found = new Set(sources().flatMap((source) => unguardedLookUps(source)))
  assert.deepEqual(
    [...found].filter((lookUp) => !SAFE.has(lookUp)),
    [],
    'use a Map, or ask Object.hasOwn first',
  )
  assert.deepEqual(
    [...SAFE.keys()].filter((lookUp) => !found.has(lookUp)),
    [],
    'these are no longer there: remove them from the list',
  )
})

test('the operator `in` is used with literal names only: it finds inherited members', () => {
  const found = sources().flatMap((source) =>
    findNodes(source, isInOperator)
      .filter(({ left }) => !isStringLiteral(left) && left.kind !== SyntaxKind.PrivateIdentifier)
      .map((node) => describe(source, node)),
  )
  assert.deepEqual(found, [], 'use Object.hasOwn')
})

function sources(): SourceFile[] {
  const names = project.program
    .getSourceFileNames()
    .filter((name) => /^packages\/(csv|iql|protocol|server)\/src\//.test(name.slice(root.length)))
  assert.ok(names.length > 100, 'the source files are found')
  return names.flatMap((name) => project.program.getSourceFile(name) ?? [])
}

/** The compiler accepts a key of type `string` for index signatures only, such as that of a Record. */
function unguardedLookUps(source: SourceFile): string[] {
  const accesses = findNodes(source, isElementAccessExpression)
  if (accesses.length === 0) return []
  const keys = project.checker.getTypeAtLocation(accesses.map(({ argumentExpression }) => argumentExpression))
  return accesses.flatMap((access, index) => {
    const key = keys[index]
    return key !== undefined && isAnyString(key) && !isGuarded(source, access) ? describe(source, access) : []
  })
}

function isAnyString(type: Type): boolean {
  if (type.isUnionType()) return type.getTypes().some((member) => isAnyString(member))
  return (type.flags & (TypeFlags.String | TypeFlags.Any | TypeFlags.TemplateLiteral)) !== 0
}

/** Whether the function around it asks Object.hasOwn for the same object and name. */
function isGuarded(source: SourceFile, { expression, argumentExpression }: ElementAccessExpression): boolean {
  const guard = `Object.hasOwn(${readText(source, expression)}, ${readText(source, argumentExpression)})`
  let around: Node = expression
  while (around.parent !== undefined && !isFunctionLikeDeclaration(around)) around = around.parent
  return readText(source, around).includes(guard)
}

function isInOperator(node: Node): node is BinaryExpression {
  return isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.InKeyword
}

function findNodes<Kind extends Node>(source: SourceFile, isKind: (node: Node) => node is Kind): Kind[] {
  const found: Kind[] = []
  const visit = (node: Node): void => {
    if (isKind(node)) found.push(node)
    node.forEachChild(visit)
  }
  visit(source)
  return found
}

function describe(source: SourceFile, node: Node): string {
  return `${source.fileName.slice(root.length)}: ${readText(source, node).replaceAll("'", '"')}`
}

/** Without the comments before it. */
function readText(source: SourceFile, node: Node): string {
  return source.text.slice(node.getStart(source), node.end)
}
