/** What a generator of one page exports. */
export interface GeneratedPage {
  /** From the root of the repository. */
  readonly path: string
  render(): string | Promise<string>
}

export const NOTICE = '<!-- Made by "npm run docs": edit the program, not this page. -->'
