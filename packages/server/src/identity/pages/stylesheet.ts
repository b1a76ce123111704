/** The stylesheets of the pages: the typefaces, the design tokens in the operator's colour, and the rules in `styles/`. */
import { readFileSync } from 'node:fs'
import { PAGE_FILES } from '../../lib/program-files.ts'
import { fontFaces } from './fonts.ts'
import { designTokens } from './tokens.ts'

/** `base` is the path of the issuer. */
export function pageStyles(colour: string, base: string): string {
  return `${fontFaces(base)}${designTokens(colour)}${rules('elements')}${rules('pages')}${rules('site')}`
}

/** What the documentation has beyond other pages. */
export function documentationStyles(): string {
  return rules('documentation') + rules('search')
}

/** Without comments and indentation. */
function rules(name: 'elements' | 'pages' | 'site' | 'documentation' | 'search'): string {
  return readFileSync(new URL(`styles/${name}.css`, PAGE_FILES), 'utf8')
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .replaceAll('}', '}\n')
}
