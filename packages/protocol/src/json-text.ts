/** A value that is JSON text already. The JSON codec inserts the text as it is. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
