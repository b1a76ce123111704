/** Marks a single word that people read, where no property such as `title` or `label` tells: a catalogue may translate it. */
export function word(text: string): string {
  return text
}
