/**
 * Removes symbols and debug information, which only debuggers read, from a Linux executable: 33 of Node's 150 MB. They
 * are after everything that is loaded. Source: the ELF specification, https://refspecs.linuxfoundation.org/elf/elf.pdf.
 */

const MAGIC = 0x7f454c46;
/** Offsets in the header of a 64-bit file. */
const AT = { segments: 32, sections: 40, segmentBytes: 54, segmentCount: 56, sectionCount: 60, sectionNames: 62 };
/** Offsets in a segment. */
const SEGMENT_AT = { offset: 8, bytes: 32 };

export function stripElf(file: Buffer): Buffer {
  if (file.readUInt32BE(0) !== MAGIC || file[4] !== 2 || file[5] !== 1) throw new Error('It is no 64-bit ELF file.');
  const [first, bytes] = [Number(file.readBigUInt64LE(AT.segments)), file.readUInt16LE(AT.segmentBytes)];
  let end = 0;
  for (let index = 0; index < file.readUInt16LE(AT.segmentCount); index++) {
    const segment = first + index * bytes;
    const offset = Number(file.readBigUInt64LE(segment + SEGMENT_AT.offset));
    end = Math.max(end, offset + Number(file.readBigUInt64LE(segment + SEGMENT_AT.bytes)));
  }
  const stripped = Buffer.from(file.subarray(0, end));
  stripped.writeBigUInt64LE(0n, AT.sections);
  stripped.writeUInt16LE(0, AT.sectionCount);
  stripped.writeUInt16LE(0, AT.sectionNames);
  return stripped;
}
