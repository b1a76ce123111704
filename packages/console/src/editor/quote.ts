/** Names and texts as IQL writes them. */
import { printName } from 'gatehouse-iql'

export function quoteName(text: string): string {
  return printName({ text, at: 0 })
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
