-- Wireshark and tshark: the header of receiver-driven transports in captures of Forebay (docs/exports.md).
--
--     wireshark -X lua_script:docs/forebay.lua FILE.pcapng

local forebay = Proto("forebay", "Forebay receiver-driven transport")

local HEADER, PORT, VERSION = 24, 1021, 1

local KINDS = {
  [1] = "Data",
  [2] = "Trimmed",
  [3] = "Returned",
  [4] = "ACK",
  [5] = "NACK",
  [6] = "Message",
  [7] = "Credit",
}

local kind = ProtoField.uint8("forebay.kind", "Kind", base.DEC, KINDS)
local version = ProtoField.uint8("forebay.version", "Version")
local flags = ProtoField.uint16("forebay.flags", "Flags", base.HEX)
local last = ProtoField.bool("forebay.flags.last", "Last packet, or all has arrived", 16, nil, 0x0001)
local again = ProtoField.bool("forebay.flags.again", "Sent again", 16, nil, 0x0002)
local resend = ProtoField.bool("forebay.flags.resend", "Requests what is missing", 16, nil, 0x0004)
local core = ProtoField.bool("forebay.flags.core", "Cut off at a port to a switch", 16, nil, 0x0008)
local flow = ProtoField.uint32("forebay.flow", "Flow")
local seq = ProtoField.uint64("forebay.seq", "Seq")
local stamp = ProtoField.uint32("forebay.stamp", "Stamp")
local word = ProtoField.uint16("forebay.word", "Word")
local payload = ProtoField.uint16("forebay.payload", "Payload bytes")

forebay.fields = { kind, version, flags, last, again, resend, core, flow, seq, stamp, word, payload }

function forebay.dissector(buffer, packet, tree)
  if buffer:len() < HEADER or buffer(1, 1):uint() ~= VERSION then
    return 0
  end
  local of = buffer(0, 1):uint()
  local name = KINDS[of] or string.format("Kind %d", of)
  local number, at = buffer(4, 4):uint(), buffer(8, 8):uint64()
  packet.cols.protocol = "Forebay"
  packet.cols.info = string.format("%s, flow %d, seq %s", name, number, tostring(at))

  local top = tree:add(forebay, buffer(0, HEADER))
  top:append_text(string.format(", %s, flow %d", name, number))
  top:add(kind, buffer(0, 1))
  top:add(version, buffer(1, 1))
  local bits = top:add(flags, buffer(2, 2))
  bits:add(last, buffer(2, 2))
  bits:add(again, buffer(2, 2))
  bits:add(resend, buffer(2, 2))
  bits:add(core, buffer(2, 2))
  top:add(flow, buffer(4, 4))
  top:add(seq, buffer(8, 8))
  top:add(stamp, buffer(16, 4))
  top:add(word, buffer(20, 2))
  top:add(payload, buffer(22, 2))
  return buffer:len()
end

DissectorTable.get("udp.port"):add(PORT, forebay)
