/** Compares output with a golden file; `UPDATE_GOLDEN=1` rewrites the file after an intended change. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'

const folder = new URL('../cli/golden/', import.meta.url)

export async function matchesGolden(name: string, text: string): Promise<void> {
  const file = new URL(name, folder)
  if (process.env.UPDATE_GOLDEN === '1') return await writeFile(file, text)
  const expected = await readFile(file, 'utf8').catch(() => '')
  assert.equal(text, expected, `${name} differs: if the change is intended, run the test with UPDATE_GOLDEN=1`)
}

/** Replaces values that differ from run to run with placeholders. */
export function steady(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
    .replace(/\b[0-9a-f]{64}\b/g, 'HASH')
    .replace(/\busr_[\w-]{22}/g, 'usr_ID')
    .replace(/(?<![\w/-])[\w-]{43}(?![\w-])/g, 'SECRET')
    .replace(/(?<![\w/-])[\w-]{22}(?![\w-])/g, 'ID')
    .replace(/"password": "[^"]+"/g, '"password": "PASSWORD"')
    .replace(/"active_from": ?\d{13}/g, '"active_from":MILLISECONDS')
    .replace(/"node": "[^"]+"/g, '"node": "NODE"')
    .replace(/"request_id": "[^"]+"/g, '"request_id": "REQUEST"')
    .replace(/"(actor|created_by)": "local:[^"]+"/g, '"$1": "local:USER"')
    .replace(/("target": )"(SECRET|ID)"/g, '$1"ID"')
}
