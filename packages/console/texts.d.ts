import type { Plugin, transform } from 'esbuild'

/** English to the other language, from all files of the folder. */
export function readCatalogue(folder: string): ReadonlyMap<string, string>
/** The plug-in for esbuild: the modules at or below `places` with the texts of the catalogue. */
export function translated(places: readonly string[], catalogue: ReadonlyMap<string, string>): Plugin
/** The script of a module without types and JSX: its texts are literals. */
export function plainScript(path: string, esbuild: { readonly transform: typeof transform }): Promise<string>
/** The script with the texts of the catalogue. */
export function translate(script: string, catalogue: Pick<ReadonlyMap<string, string>, 'get'>): string
/** The texts of a script that people read. */
export function readTexts(script: string): ReadonlySet<string>
