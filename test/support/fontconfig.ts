/** Fonts for the test browser: only those of an npm package, so that text is laid out alike on every machine. */
import { randomUUID } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const FONTS = join(dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')), 'ttf')

/** The family behind each generic name that a stylesheet may ask for. */
const FAMILIES: Readonly<Record<string, string>> = {
  'sans-serif': 'DejaVu Sans',
  'system-ui': 'DejaVu Sans',
  serif: 'DejaVu Serif',
  monospace: 'DejaVu Sans Mono',
}
const DEFAULT_FAMILY = 'DejaVu Sans'

/** Writes fonts.conf into a folder under `cache`; returns the variables that make fontconfig read it and nothing else. */
export async function writeFontconfig(cache: string): Promise<Record<string, string>> {
  const folder = join(cache, 'gatehouse-fontconfig')
  await mkdir(folder, { recursive: true })
  const file = join(folder, 'fonts.conf')
  // Written at every start, because the project may have moved; renamed, because another browser may be reading it.
  const draft = join(folder, `${randomUUID()}.tmp`)
  await writeFile(draft, fontsConf(join(folder, 'cache')))
  await rename(draft, file)
  return { FONTCONFIG_FILE: file, FONTCONFIG_PATH: folder }
}

function fontsConf(cache: string): string {
  const aliases = Object.entries(FAMILIES).map(
    ([generic, family]) =>
      `  <alias binding="same"><family>${generic}</family><prefer><family>${family}</family></prefer></alias>`,
  )
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${escapeXml(FONTS)}</dir>
  <cachedir>${escapeXml(cache)}</cachedir>
${aliases.join('\n')}
  <match target="pattern">
    <edit name="family" mode="append_last" binding="weak"><string>${DEFAULT_FAMILY}</string></edit>
  </match>
</fontconfig>
`
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
