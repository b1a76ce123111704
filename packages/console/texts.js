/**
 * The texts of the console in other languages. The sources are in plain English; while they are built for another
 * language, each literal that its catalogue knows is replaced, so that no language costs the others anything.
 *
 * The catalogue of a language is the folder `languages/<language>`: JSON files from English to the language. `{0}` stands
 * for the first value of a template literal. Spaces around a text stay as they are.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { parse } from 'acorn'

/** English to the other language, from all files of the folder. */
export function readCatalogue(folder) {
  const files = readdirSync(folder).filter((file) => extname(file) === '.json')
  return new Map(files.flatMap((file) => Object.entries(JSON.parse(readFileSync(join(folder, file), 'utf8')))))
}

/** The plug-in for esbuild: the modules at or below `places` with the texts of the catalogue. */
export function translated(places, catalogue) {
  return {
    name: 'texts',
    setup({ onLoad, esbuild }) {
      onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
        if (!places.some((place) => path.startsWith(place))) return undefined
        return { contents: translate(await plainScript(path, esbuild), catalogue), loader: 'js' }
      })
    },
  }
}

/** The script of a module without types and JSX: its texts are literals. */
export async function plainScript(path, { transform }) {
  const { code } = await transform(readFileSync(path, 'utf8'), {
    loader: extname(path).slice(1),
    jsx: 'automatic',
    jsxImportSource: 'preact',
    target: 'es2022',
  })
  return code
}

/** The script with the texts of the catalogue. */
export function translate(script, catalogue) {
  return written(parseScript(script), false)

  function written(node, isShown) {
    const text = readText(node)
    const other = text !== undefined && isText(text, isShown) ? catalogue.get(text.trim()) : undefined
    return other === undefined
      ? withParts(node, isShown)
      : literal(
          node,
          text.replace(text.trim(), () => other),
        )
  }

  function withParts(node, isShown) {
    let [result, at] = ['', node.start]
    for (const { node: child, part } of listChildren(node)) {
      result += script.slice(at, child.start) + written(child, isShownIn(node, part, isShown))
      at = child.end
    }
    return result + script.slice(at, node.end)
  }

  function literal(node, text) {
    if (node.type === 'Literal') return JSON.stringify(text)
    const escaped = text.replace(/[\\`$]/g, '\\$&')
    return `\`${escaped.replace(/\{(\d)\}/g, (_, value) => `\${${written(node.expressions[value], true)}}`)}\``
  }
}

/** Properties whose values people read; others hold names and code. */
const SHOWN = new Set(
  [
    ['about', 'children', 'description', 'group', 'help', 'hint', 'label', 'message', 'note', 'placeholder'],
    ['question', 'reason', 'summary', 'text', 'title', 'unit', 'why', 'action', 'aria-label', 'aria-description'],
  ].flat(),
)

/** The texts of a script that people read. */
export function readTexts(script) {
  const found = new Set()
  visit(parseScript(script), false)
  return found

  function visit(node, isShown) {
    const text = readText(node)
    if (text !== undefined && isText(text, isShown) && (isShown || SENTENCE.test(text))) found.add(text.trim())
    for (const { node: child, part } of listChildren(node)) visit(child, isShownIn(node, part, isShown))
  }
}

/** Elsewhere than in a property that is shown, one word may be a name. */
function isText(text, isShown) {
  return /\p{L}{2}/u.test(text.replace(/\{\d\}/g, '')) && (isShown || text.trim().includes(' '))
}

/** What begins like a sentence, or with a value and a word after it. */
const SENTENCE = /^\s*([A-Z“][\p{Ll}’]*,? \p{L}|“?\{0\}”?[,:]? \p{Ll}{2})/u

/** Whether a part of a node is shown; `word` marks a single word that is, where nothing else tells. */
function isShownIn(node, part, isShown) {
  if (node.type === 'Property') return SHOWN.has(node.key.name ?? node.key.value)
  if (node.type === 'CallExpression') return node.callee.name === 'word'
  if (node.type === 'ConditionalExpression') return isShown && part !== 'test'
  if (node.type === 'LogicalExpression') return isShown && (part === 'right' || node.operator !== '&&')
  if (node.type === 'AssignmentPattern') return isShown && part === 'right'
  return isShown && (node.type === 'ArrayExpression' || node.type === 'TemplateLiteral')
}

/** The text of a string or template; undefined for other nodes. */
function readText(node) {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node.type !== 'TemplateLiteral') return undefined
  return node.quasis.map(({ value }, i) => (i === 0 ? '' : `{${i - 1}}`) + value.cooked).join('')
}

/** The parts of a node in the order of the script, but for names of modules, properties and tagged templates. */
function listChildren(node) {
  return Object.entries(node)
    .filter(([name]) => !isName(node, name))
    .flatMap(([part, value]) => [value].flat().map((child) => ({ part, node: child })))
    .filter(({ node: child }) => typeof child?.type === 'string')
    .sort((a, b) => a.node.start - b.node.start)
}

function isName(node, part) {
  if (part === 'key') return !node.computed
  if (part === 'quasi') return true
  return /^(Import|Export)/.test(node.type) && part !== 'declaration' && node.type !== 'ImportExpression'
}

function parseScript(script) {
  return parse(script, { ecmaVersion: 'latest', sourceType: 'module' })
}
