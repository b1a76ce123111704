/** The stylesheets of the pages: the design tokens in the operator's colour, and the rules in `styles/`. */
import { readFileSync } from 'node:fs'
import { designTokens } from './tokens.ts'

export function pageStyles(colour: string): string {
  return `${designTokens(colour)}${rules('pages')}${rules('site')}`
}

/** Without comments and indentation. */
function rules(name: 'pages' | 'site'): string {
  return readFileSync(new URL(`styles/${name}.css`, import.meta.url), 'utf8')
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .replaceAll('}', '}\n')
}
