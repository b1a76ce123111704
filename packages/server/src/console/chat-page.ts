/** The page that draws charts in a chat (MCP Apps 2026-01-26): one document with everything in it, which loads nothing and calls nobody. */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { preferredLanguages, primaryLanguage } from '../http/request/accept.ts'

interface BuiltChat {
  readonly script: string
  readonly style: string
}

/** Undefined where the console was not built. `tokens`: CSS with the design tokens. */
export async function readChatPage(
  folder: string,
  tokens: string,
  acceptLanguage: string | undefined,
): Promise<string | undefined> {
  const text = await readFile(join(folder, 'chat.json'), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const built = new Map<string, BuiltChat>(Object.entries(JSON.parse(text)))
  const preferred = preferredLanguages([], acceptLanguage).map(primaryLanguage)
  const language = preferred.find((tag) => built.has(tag)) ?? 'en'
  const { script = '', style = '' } = built.get(language) ?? {}
  const css = tokens + style
  // Of its own, whatever the client allows the frame.
  const policy = [
    "default-src 'none'",
    `script-src ${digest(script)}`,
    `style-src ${digest(css)}`,
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
  ]
  return `<!DOCTYPE html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy.join('; ')}">
<title>Chart</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>${css}</style>
</head>
<body>
<div id="chat"></div>
<script>${script}</script>
</body>
</html>
`
}

function digest(text: string): string {
  return `'sha256-${hash('sha256', text, 'base64')}'`
}
