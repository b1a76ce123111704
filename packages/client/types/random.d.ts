/** Texts that cannot be guessed: states, verifiers, idempotency keys. */
/** 256 random bits as digits, which every protocol takes. `randomUUID` is missing in pages that come by plain HTTP. */
export declare function random(): string;
