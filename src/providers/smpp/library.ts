import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

/**
 * The part of the `smpp` package that is used: its PDUs, and cutting a stream into them. Windows, timeouts,
 * binding and texts are ours (session.ts, encode-sms.ts): the package labels GSM-7 as IA5, and reads a
 * receipt's text by an alphabet that it may not be in. So it is set here to leave texts as octets.
 */
export interface Pdu {
  command: string;
  command_id: number;
  command_status: number;
  sequence_number: number;
  isResponse(): boolean;
  response(options?: { command_status?: number; message_id?: string; system_id?: string }): Pdu;
  message_id?: string;
  system_id?: string;
  password?: string;
  source_addr?: string;
  source_addr_ton?: number;
  destination_addr?: string;
  dest_addr_ton?: number;
  esm_class?: number;
  data_coding?: number;
  registered_delivery?: number;
  /** Written as a text, read as the time that it means. */
  validity_period?: Date | string;
  short_message?: Buffer;
  message_payload?: Buffer;
  receipted_message_id?: string;
  message_state?: number;
  network_error_code?: Buffer;
  user_message_reference?: number;
  sar_msg_ref_num?: number;
  sar_total_segments?: number;
  sar_segment_seqnum?: number;
}

export interface LibrarySession extends EventEmitter {
  socket: Socket;
  /** `false` when the socket takes nothing any more. The number is given to the PDU before it is written. */
  send(pdu: Pdu): boolean;
}

interface FieldType {
  /** The length is that of a TLV; other fields have none. */
  read(buffer: Buffer, offset: number, length?: number): unknown;
}

interface Library {
  Session: new (options: { socket: Socket }) => LibrarySession;
  PDU: new (command: string, fields: Record<string, unknown>) => Pdu;
  commands: Record<string, { params?: Record<string, { filter?: unknown }> }>;
  tlvs: Record<string, { filter?: unknown }>;
  types: {
    tlv: { buffer: unknown };
    cstring: FieldType;
    int8: FieldType;
    int16: FieldType;
    int32: FieldType;
  };
  addTLV(tag: string, options: { id: number; type: unknown }): void;
}

const library = require('smpp') as Library;

for (const { params } of Object.values(library.commands)) delete params?.short_message?.filter;
// Nothing of what they read is used, and each ends the session where the value is too short, as an empty callback_num is.
for (const tlv of Object.values(library.tlvs)) delete tlv.filter;
for (const field of Object.values(library.commands.deliver_sm?.params ?? {})) delete field.filter;

/**
 * The package reads a TLV by its type and not by its length. The id of a receipt that some centres write without the zero at its
 * end ran on into the next TLV and was no message's, and a number that is shorter than it should be, as the last TLV, ended
 * the session: with each new one the centre sent the same again.
 */
function readByLength(type: FieldType, readTlv: (octets: Buffer) => unknown): void {
  const read = type.read;
  type.read = (buffer, offset, length) =>
    length === undefined ? read(buffer, offset) : readTlv(buffer.subarray(offset, offset + length));
}
const { cstring, int8, int16, int32 } = library.types;
readByLength(cstring, (octets) => octets.toString('latin1').split('\0', 1)[0]);
for (const type of [int8, int16, int32])
  readByLength(type, (octets) =>
    octets.length === 0 ? undefined : octets.readUIntBE(0, Math.min(octets.length, 6)),
  );

export const openLibrarySession = (socket: Socket): LibrarySession => new library.Session({ socket });

export const newPdu = (command: string, fields: Record<string, unknown> = {}): Pdu =>
  new library.PDU(command, fields);

/** A TLV that the package does not know; answers the name by which PDUs carry it. */
export function vendorTlv(id: number): string {
  const name = `vendor_${id.toString(16)}`;
  if (!library.tlvs[name]) library.addTLV(name, { id, type: library.types.tlv.buffer });
  return name;
}
