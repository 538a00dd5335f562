#!/usr/bin/env python3
"""Writes a dictionary in QuickFIX's XML format as a FIX Orchestra repository of FIX Latest.

usage: orchestra_of.py DICTIONARY OUTPUT

Components keep their names, each group becomes a <group>, and the values of a field a <codeSet>. The result
must be the same dictionary: the reader of one format is compared with that of the other.
"""
import sys
import xml.etree.ElementTree as ET

NAMESPACE = "http://fixprotocol.io/2020/orchestra/repository"
# QuickFIX writes types in capitals; these are not written with one capital in Orchestra.
TYPES = {"STRING": "String", "PRICE": "Price", "AMT": "Amt", "QTY": "Qty", "CURRENCY": "Currency", "EXCHANGE": "Exchange",
         "BOOLEAN": "Boolean", "PERCENTAGE": "Percentage", "LENGTH": "Length", "COUNTRY": "Country",
         "LANGUAGE": "Language", "MULTIPLEVALUESTRING": "MultipleStringValue", "MULTIPLESTRINGVALUE": "MultipleStringValue",
         "MULTIPLECHARVALUE": "MultipleCharValue", "UTCTIMESTAMP": "UTCTimestamp", "UTCTIMEONLY": "UTCTimeOnly",
         "UTCDATEONLY": "UTCDateOnly", "LOCALMKTDATE": "LocalMktDate", "LOCALMKTTIME": "LocalMktTime",
         "PRICEOFFSET": "PriceOffset", "MONTHYEAR": "MonthYear", "NUMINGROUP": "NumInGroup", "SEQNUM": "SeqNum",
         "TAGNUM": "TagNum", "TZTIMEONLY": "TZTimeOnly", "TZTIMESTAMP": "TZTimestamp", "XMLDATA": "XMLData",
         "XID": "XID", "XIDREF": "XIDREF"}


class Converter:
    def __init__(self, source):
        self.source = source
        self.repository = ET.Element(f"{{{NAMESPACE}}}repository", name="FIX.Latest", version="FIX.Latest_EP000")
        self.lists = {name: self.add(self.repository, name)
                      for name in ("codeSets", "fields", "components", "groups", "messages")}
        self.tags = {field.get("name"): field.get("number") for field in source.find("fields")}
        self.components = {node.get("name"): str(5000 + i) for i, node in enumerate(source.find("components"))}
        self.group_count = 0

    @staticmethod
    def add(parent, kind, **attributes):
        return ET.SubElement(parent, f"{{{NAMESPACE}}}{kind}", attributes)

    def members(self, nodes, parent):
        for node in nodes:
            name = node.get("name")
            presence = "required" if node.get("required") == "Y" else "optional"
            if node.tag == "field":
                self.add(parent, "fieldRef", id=self.tags[name], presence=presence)
            elif node.tag == "component":
                self.add(parent, "componentRef", id=self.components[name], presence=presence)
            else:
                self.group_count += 1
                identity = str(9000 + self.group_count)
                group = ET.Element(f"{{{NAMESPACE}}}group", id=identity, name=f"{name}Grp{identity}")
                self.add(group, "numInGroup", id=self.tags[name])
                self.members(node, group)
                self.lists["groups"].append(group)
                self.add(parent, "groupRef", id=identity, presence=presence)

    def convert(self):
        for field in self.source.find("fields"):
            name, kind = field.get("name"), field.get("type")
            datatype = TYPES.get(kind, kind.lower())
            if len(field):
                codes = self.add(self.lists["codeSets"], "codeSet", name=name + "CodeSet", type=datatype)
                for value in field:
                    self.add(codes, "code", name=value.get("description"), value=value.get("enum"))
                datatype = name + "CodeSet"
            self.add(self.lists["fields"], "field", id=field.get("number"), name=name, type=datatype)
        for part, name, identity in (("header", "StandardHeader", "1024"), ("trailer", "StandardTrailer", "1025")):
            self.members(self.source.find(part), self.add(self.lists["components"], "component", id=identity, name=name))
        for node in self.source.find("components"):
            name = node.get("name")
            self.members(node, self.add(self.lists["components"], "component", id=self.components[name], name=name))
        for node in self.source.find("messages"):
            message = self.add(self.lists["messages"], "message", name=node.get("name"), msgType=node.get("msgtype"))
            structure = self.add(message, "structure")
            self.add(structure, "componentRef", id="1024", presence="required")
            self.members(node, structure)
            self.add(structure, "componentRef", id="1025", presence="required")
        return self.repository


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    ET.register_namespace("fixr", NAMESPACE)
    repository = Converter(ET.parse(arguments[0]).getroot()).convert()
    ET.ElementTree(repository).write(arguments[1], encoding="UTF-8", xml_declaration=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
